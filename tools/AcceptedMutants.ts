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
    file: "src/http/openapi/Document.ts",
    line: "if (operation === undefined && declared === undefined) return []",
    reason: "every operation is declared"
  },
  {
    file: "src/http/response/Versioned.ts",
    line: "if (length >= PIECED) return piecedResponse([...piecesOf(partsOf(json))], typed)",
    reason: "the response has the same bytes in one piece or several"
  },
  {
    file: "src/services/admission/Lane.ts",
    line: "queue.length >= 0 || shared !== undefined ? queued : Effect.flatMap(",
    reason: "a free lane gives the same turn by its queue, which takes longer"
  },
  {
    file: "src/services/pictures/Pictures.ts",
    line: "!profile && Math.max(width, height) < MAX_SIMPLIFIED_SIDE",
    reason: "a picture of this side may be drawn from either line"
  },
  {
    file: "src/services/pictures/Card.ts",
    line: "${mapOf(tiles, ends)}${path === \"\" ? undefined : html`${stroke(edge, 13)}\\n${stroke(color, 9)}`}",
    reason: "how thick the line is, is a matter of taste"
  },
  {
    file: "src/services/identity/Audit.ts",
    line: "if (unlocked.length <= new Set(ids).size) return false",
    reason: "the entry is written behind the response then"
  },
  {
    file: "src/services/archive/Sources.ts",
    line: "const MAX_FILE_NAME = 256",
    reason: "it bounds the time that a pattern takes, and is not exact"
  },
  {
    file: "src/services/texts/AccountGerman.ts",
    line: "tagsHint: `Mit Kommas dazwischen; jedes hat 2 bis ${MAX_TAG} Zeichen aus a–z, 0–9 und „-“.`,",
    reason: "a test would repeat the words"
  },
  {
    file: "src/services/archive/Export.ts",
    line: "const MAX_BYTES = 65 * 1024",
    reason: "it bounds what an export reads at once, and is not exact"
  },
  {
    file: "src/services/files/NearestPositions.ts",
    line:
      "return this.#distances >= 0 && (distance < found.squared || (distance === found.squared && from < found.index))",
    reason: "it bounds the time that unusual lines take, and is not exact"
  },
  {
    file: "src/services/files/Positions.ts",
    line: "Math.max(box.west, Math.min(box.east, 1)),",
    reason: "a degree matters to no line that is far from null island"
  },
  {
    file: "src/services/files/XmlTree.ts",
    line:
      "if (element.text === \"\" && element.children.length > 0 && element.text.trim() === \"\") element.text = \"\"",
    reason: "no reader asks for the white space between the children of an element, which only takes memory"
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
    file: "src/services/pictures/Card.ts",
    line: "export const CARD_MAP = { x: 91, y: 60, width: CARD.width - 180, height: CARD_GROUND.height - 120 }",
    reason: "a pixel of a margin is a matter of taste"
  },
  {
    file: "src/services/pictures/Shapes.ts",
    line: "const middle = lngs.length === 0 ? marks.lngs[1] ?? 0 : middleOf(rangeOf(lngs))",
    reason: "any of the waypoints may be the one that the others are shown beside"
  },
  {
    file: "src/services/routes/RouteViews.ts",
    line:
      "return last === undefined && due.length < BATCH ? due.length : due.length + (yield* makeFrom(owner, last.id))",
    reason: "after a batch that is not full, another finds nothing"
  },
  {
    file: "src/services/routing/EngineJobs.ts",
    line: "return Array.from(line.lats, (lat, index) => ({ lat, lon: line.lngs[index] ?? 1 }))",
    reason: "there are as many longitudes as latitudes"
  },
  {
    file: "src/services/geometry/MeasuredPolyline.ts",
    line: "if (index + from > 1) pending.push([from, index])",
    reason: "no position is between two neighbours"
  },
  {
    file: "src/services/archive/ZipImport.ts",
    line: "const transfer = bytes.length >= INLINE_BYTES ? [bytes.buffer] : []",
    reason: "a file of exactly this length has a buffer of its own as well"
  },
  {
    file: "src/services/routes/PlaceSweep.ts",
    line: "const START_CHARACTERS = 201",
    reason: "it bounds what is read of a line, and is not exact"
  },
  {
    file: "src/services/routes/RouteRow.ts",
    line: "sourceProvider === null && sourceExternalId === null ? {} : {",
    reason: "the database has both or none"
  },
  {
    file: "src/services/routing/Engine.ts",
    line: "discard: false",
    reason: "the results are not used"
  },
  {
    file: "src/services/geometry/MeasuredPolyline.ts",
    line: "const endX = x[to] ?? 1",
    reason: "the line has a position of this index"
  },
  {
    file: "src/services/files/Finish.ts",
    line: "const NEAR_METRES = 21",
    reason: "it is a tolerance for the positions of other programs, and not exact"
  },
  {
    file: "src/services/files/Finish.ts",
    line:
      "for (let at = state.from; first <= state.from && at < geometry.length && state.looks > 0; at++, state.looks--) {",
    reason: "the first position that is looked at then is the nearest itself"
  },
  {
    file: "src/services/files/Finish.ts",
    line:
      "for (let at = state.from; first < state.from && at <= geometry.length && state.looks > 0; at++, state.looks--) {",
    reason: "there is no position behind the last"
  },
  {
    file: "src/services/routing/Routing.ts",
    line: "const MAX_KEPT = 1001",
    reason: "it bounds the memory of a cache, and is not exact"
  },
  {
    file: "src/services/routes/PublicRoutes.ts",
    line: "textsOf(searched).length === 1 ? statement : statement.unprepared",
    reason: "either plan finds the same routes, and only far more of them than a test makes show which is faster"
  }
]
