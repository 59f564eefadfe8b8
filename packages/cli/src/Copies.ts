import { Schema } from "effect"
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import {
  batch,
  type BatchOperation,
  type BatchResult,
  type Client,
  type PrivacyZone,
  type Route,
  type RouteInput,
  type RouteSource,
  ServiceError,
  sync
} from "../../client/src/index.ts"
import { Failure } from "./Failure.ts"

/** A copy has every member of a route, but for the line in another form and what names a creation. */
type Copied = RouteInput & Readonly<Record<Exclude<keyof RouteInput, "polyline6" | "clientId">, unknown>>

export const inputOf = (route: Route) => ({
  name: route.name,
  waypoints: route.waypoints,
  visibility: route.visibility,
  provenance: route.provenance,
  description: route.description ?? null,
  activity: route.activity ?? null,
  duration: route.duration ?? null,
  elevationGain: route.elevationGain ?? null,
  startAddress: route.startAddress ?? null,
  endAddress: route.endAddress ?? null,
  geometry: route.geometry ?? null,
  segments: route.segments ?? null,
  distance: route.distance ?? null,
  routingPreferences: route.routingPreferences,
  cues: route.cues ?? null,
  surfaces: route.surfaces ?? null,
  tags: route.tags,
  favourite: route.favourite,
  recordedAt: route.recordedAt ?? null,
  source: route.source ?? null
} satisfies Copied)

export const OF_OTHERS = "It is of another account, and not to be seen here"

export const Ids = Schema.Record(Schema.String, Schema.Int)

/** Returns the same UUID for the same text: a creation that is sent again with it makes nothing twice. */
export const clientIdOf = (text: string): string => {
  const hex = createHash("sha256").update(text).digest("hex")
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
    .join("-")
}

const withoutSource = (operation: BatchOperation): BatchOperation | undefined => {
  if (operation.op === "create") return { ...operation, route: { ...operation.route, source: null } }
  if (operation.op === "update") return { ...operation, changes: { ...operation.changes, source: null } }
  return undefined
}

/** Sends a batch, and again without its source each route whose source another one of the account has, maybe deleted. */
export const sendAll = async (client: Client, operations: ReadonlyArray<BatchOperation>) => {
  const send = (some: ReadonlyArray<BatchOperation>) =>
    batch(client, some, { confirm: true, idempotencyKey: crypto.randomUUID() })
  const sent = (await send(operations)).map((result, index) => ({ operation: operations[index], result }))
  const refused = sent.flatMap((one) => {
    const isUsed = one.result.error?.details?.["reason"] === "source_used"
    const again = isUsed && one.operation !== undefined ? withoutSource(one.operation) : undefined
    return again === undefined ? [] : [{ one, again }]
  })
  // A failure of the second batch must not hide what the first has stored: the next run tries the second again.
  const results = await send(refused.map(({ again }) => again)).catch((): ReadonlyArray<BatchResult> => [])
  for (const [index, { again, one }] of refused.entries()) {
    Object.assign(one, { operation: again, result: results[index] ?? one.result })
  }
  return sent
}

const isSameZone = (one: PrivacyZone) => ({ center, radius }: PrivacyZone) =>
  radius === one.radius && center.every((degrees, index) => degrees === one.center[index])

/**
 * Puts zones beside those of the account, in place of those that an earlier run added, and returns what it added. This
 * precedes the routes, so that none is shown without them.
 */
export const addZones = async (
  { users }: Client,
  zones: ReadonlyArray<PrivacyZone>,
  added: ReadonlyArray<PrivacyZone> = []
): Promise<ReadonlyArray<PrivacyZone>> => {
  const present = (await users.privacyZones()).zones
  const own = present.filter((zone) => !added.some(isSameZone(zone)))
  const missing = zones.filter((zone) => !own.some(isSameZone(zone)))
  const all = [...own, ...missing]
  if (isDeepStrictEqual(all, present)) return missing
  const headers = added.length === 0 ? {} : { "X-Service-Confirm": "true" }
  await users.setPrivacyZones({ headers, payload: { zones: all } }).catch((error) => {
    if (!(error instanceof ServiceError && error.statusCode === 400)) throw error
    throw Failure.because(
      `The account has no room for all privacy zones (${error.message}), and without them routes would show what they hide, so none `
        + "was copied: remove privacy zones of the account, then run this again"
    )
  })
  return missing
}

export const sourceText = ({ externalId, provider }: RouteSource): string => JSON.stringify([provider, externalId])

/** Returns what the account has, routes also by source: items of the backup may still be there, and are left as they are. */
export const presentIds = async (client: Client) => {
  const ids = { routes: new Set<number>(), collections: new Set<number>(), links: new Set<number>() }
  const bySource = new Map<string, number>()
  let cursor: string | undefined
  await sync(client, {
    cursor: () => cursor,
    apply: (page) => {
      for (const { change, id, route, type } of page.changes) {
        if (type === "account") continue
        if (route?.source !== undefined) bySource.set(sourceText(route.source), id)
        if (change === "deleted") ids[`${type}s`].delete(id)
        else ids[`${type}s`].add(id)
      }
      cursor = page.cursor
    },
    reset: () => {
      cursor = undefined
      for (const all of Object.values(ids)) all.clear()
    }
  }, { geometry: "none", limit: 200, include: "everything" })
  return { ...ids, bySource }
}
