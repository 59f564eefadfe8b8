interface Accepted {
  readonly file: string
  /** It is the changed line without its indentation. */
  readonly line: string
  readonly reason: string
}

/** No test is to notice these changes; each has its reason. */
export const ACCEPTED: ReadonlyArray<Accepted> = [
  {
    file: "src/http/pages/shared/Sitemap.ts",
    line: "const MAX_PARTS = 50001",
    reason: "the index is this long with 500 million ids"
  },
  {
    file: "src/services/accounts/Sessions.ts",
    line: "WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now} ORDER BY created_at DESC, id ASC`",
    reason: "the ids are random, so that sessions of one instant have no order"
  },
  {
    file: "src/services/accounts/Tokens.ts",
    line:
      "yield* Effect.forEach(revoked, () => audit.record(\"token.revoked\", { userId: owner }), { discard: false })",
    reason: "the results are not used"
  },
  {
    file: "src/services/geometry/MeasuredPolyline.ts",
    line: "const DISTANCES_EACH = 401",
    reason: "it bounds the time that unusual lines take, and is not exact"
  },
  {
    file: "src/services/files/XmlTree.ts",
    line:
      "if (element.text === \"\" && element.children.length > 0 && element.text.trim() === \"\") element.text = \"\"",
    reason: "no reader asks for the white space between the children of an element, which only takes memory"
  },
  {
    file: "src/services/geometry/MeasuredPolyline.ts",
    line: "if (index + from > 1) pending.push([from, index])",
    reason: "no position is between two neighbours"
  },
  {
    file: "src/services/mail/Outbox.ts",
    line: "const wakeUps = yield* Queue.sliding<void>(2)",
    reason: "a second wake-up that is kept finds nothing left to send"
  },
  {
    file: "src/services/operations/Metrics.ts",
    line: "const PROBE_TIMEOUT = Duration.millis(251)",
    reason: "a millisecond more changes no behaviour"
  },
  {
    file: "src/services/pictures/Card.ts",
    line: "const ROADS = { motorway: 6, trunk: 5, primary: 4.5, secondary: 3.5, tertiary: 3, minor: 3, service: 1.2 }",
    reason: "how wide a road is drawn is a matter of taste"
  },
  {
    file: "src/services/pictures/Shapes.ts",
    line: "const middle = lngs.length === 0 ? marks.lngs[1] ?? 0 : middleOf(rangeOf(lngs))",
    reason: "any of the waypoints may be the one that the others are shown beside"
  },
  {
    file: "src/services/routing/EngineJobs.ts",
    line: "return Array.from(line.lats, (lat, index) => ({ lat, lon: line.lngs[index] ?? 1 }))",
    reason: "there are as many longitudes as latitudes"
  }
]
