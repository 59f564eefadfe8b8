import { Context, Effect, Fiber, Layer, Metric, Option } from "effect"
import { LRUCache } from "lru-cache"
import { createHash } from "node:crypto"
import type { RouteRef } from "../../schema/Ids.ts"
import { attributionOf, type PictureFormat, type PictureOptions } from "../../schema/Picture.ts"
import type { Visibility } from "../../schema/Resource.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { HeavyWork, INLINE_BYTES } from "../admission/HeavyWork.ts"
import { Lanes } from "../admission/Lanes.ts"
import { textOf } from "../bodies/JsonText.ts"
import type { Missing, Overloaded } from "../DomainErrors.ts"
import { coordinatesOf } from "../geometry/Geodesy.ts"
import { positionsOf } from "../geometry/MeasuredPolyline.ts"
import { atZero, countersBy } from "../operations/Metrics.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { Routes } from "../routes/Routes.ts"
import { readWaypoints } from "../routes/RouteText.ts"
import { CountsUses } from "../sharing/LinkUses.ts"
import type { Viewer } from "../sharing/Visibility.ts"
import { CARD_GROUND, CARD_MAP, type CardTexts } from "./Card.ts"
import { CurrentMapStyle, type PlacedTile } from "./MapStyle.ts"
import { drawCardPng, drawPng, drawSvg } from "./PictureJobs.ts"
import { project } from "./Shapes.ts"

const kept = Metric.gauge("picture_cache_bytes", { description: "Bytes of pictures kept in memory" })

const OUTCOMES = countersBy(
  "pictures_total",
  "outcome",
  ["kept", "joined", "made"],
  "Requests for pictures, by whether one was kept, was being made, or had to be made"
)

interface MadePicture {
  readonly bytes: Uint8Array
  /** A picture that is not current is not kept. */
  readonly isCurrent: boolean
}

/** Keeps the last used pictures (`PICTURE_CACHE_BYTES`). Equal requests share a fiber that outlives each of them. */
export const makePictureCache = <E>() =>
  Effect.gen(function*() {
    const maxSize = yield* settings.PICTURE_CACHE_BYTES
    const scope = yield* Effect.scope
    const pictures = new LRUCache<string, Uint8Array>({ maxSize, sizeCalculation: ({ byteLength }) => byteLength })
    const running = new Map<string, Fiber.Fiber<MadePicture, E>>()
    yield* atZero([kept, ...Object.values(OUTCOMES)])

    const madeAndKept = (key: string, made: Effect.Effect<MadePicture, E>) =>
      made.pipe(
        Effect.tap(({ bytes, isCurrent }) => {
          if (isCurrent) pictures.set(key, bytes)
          return Metric.update(kept, pictures.calculatedSize)
        }),
        Effect.ensuring(Effect.sync(() => running.delete(key)))
      )

    return Effect.fnUntraced(function*(key: string, made: Effect.Effect<MadePicture, E>) {
      const bytes = pictures.get(key)
      if (bytes !== undefined) {
        yield* Metric.update(OUTCOMES.kept, 1)
        return { bytes, isCurrent: true }
      }
      const other = running.get(key)
      yield* Metric.update(other === undefined ? OUTCOMES.made : OUTCOMES.joined, 1)
      if (other !== undefined) return yield* Fiber.join(other)
      const fiber = yield* Effect.forkIn(madeAndKept(key, made), scope)
      // A fiber that has ended already would stay in the map.
      if (fiber.pollUnsafe() === undefined) running.set(key, fiber)
      return yield* Fiber.join(fiber)
    })
  })

interface FoundPicture {
  readonly digest: string
  readonly visibility: Visibility
  /** Draws the picture unless it is cached. Fails with `Overloaded` under load. */
  readonly bytes: Effect.Effect<Uint8Array, Missing | Overloaded>
}

interface FoundCard extends Pick<FoundPicture, "digest" | "visibility"> {
  /** The digest is another one if the card has to do without its map. */
  readonly drawn: Effect.Effect<{ readonly digest: string; readonly bytes: Uint8Array }, Missing | Overloaded>
}

export class Pictures extends Context.Service<Pictures, {
  /** Plans a picture of the route as its viewer sees it, by the rules of `Routes.get`. This is no use of a link. */
  readonly find: (
    ref: RouteRef,
    viewer: Viewer,
    format: PictureFormat,
    options: PictureOptions
  ) => Effect.Effect<FoundPicture, Missing | Overloaded>
  /** Plans the card of a route for sites that show links to it, by the same rules, as a visitor sees the route. */
  readonly card: (
    ref: RouteRef,
    texts: (route: StoredRoute) => Omit<CardTexts, "attribution" | "tiles" | "title">
  ) => Effect.Effect<FoundCard, Missing | Overloaded>
}>()("route-planning-service/Pictures") {
  static readonly layer = Layer.effect(
    Pictures,
    Effect.gen(function*() {
      const lanes = yield* Lanes
      const heavy = yield* HeavyWork
      const routes = yield* Routes
      const currentStyle = yield* CurrentMapStyle
      const getOrMake = yield* makePictureCache<Missing | Overloaded>()

      const draw = (route: StoredRoute, format: PictureFormat, options: PictureOptions) => {
        const { name, provenance, segments, waypoints } = route
        const geometry = textOf(route.geometry ?? "[]")
        const order = { name, geometry, segments, waypoints, attribution: attributionOf(provenance), options }
        const length = geometry.length + waypoints.length
        return format === "svg"
          ? heavy.run(drawSvg, order, DRAWING_WEIGHT * length)
          : heavy.run(drawPng, order, INLINE_BYTES + length)
      }

      return Pictures.of({
        find: Effect.fnUntraced(function*(ref, viewer, format, options) {
          const digest = (route: StoredRoute) => pictureDigest(route, format, options)
          const seen = yield* routes.get(ref, viewer, "simplified")
          const key = digest(seen)

          // The version is read again after the line: the line of one version must not be kept as that of another.
          const fromWholeLine = Effect.gen(function*() {
            const bytes = yield* draw(yield* routes.get(ref, viewer, "full"), format, options)
            const after = yield* routes.get(ref, viewer, "simplified")
            return { bytes, isCurrent: digest(after) === key }
          }).pipe(Effect.provideService(CountsUses, false), lanes.downloads)

          const fromSimplified = Effect.map(draw(seen, format, options), (bytes) => ({ bytes, isCurrent: true }))

          return {
            digest: key,
            visibility: seen.visibility,
            bytes: Effect.map(getOrMake(key, isSmall(options) ? fromSimplified : fromWholeLine), ({ bytes }) => bytes)
          }
        }, Effect.provideService(CountsUses, false)),
        card: Effect.fnUntraced(function*(ref, texts) {
          const seen = yield* routes.get(ref, Option.none(), "simplified")
          const { geometry, name, provenance, segments = "[]", waypoints } = seen
          const style = Option.getOrUndefined(yield* currentStyle)
          const attributions = [attributionOf(provenance), withoutMarkup(style?.tiles?.attribution)]
          const attribution = [...new Set(attributions.filter((text) => text !== undefined))].join(", ") || undefined
          const words = { ...texts(seen), title: name, attribution }
          const order = { ...words, segments, waypoints, geometry: textOf(geometry ?? "[]") }
          const digest = digestOf(["card", DRAWING, order, style?.tiles?.template])
          const plain = `${digest}-plain`
          const drawnOn = (tiles: ReadonlyArray<PlacedTile>) =>
            heavy.run(drawCardPng, { ...order, tiles }, INLINE_BYTES + order.geometry.length)
          // The tiles are asked for again at each request, while the card without them is drawn once.
          const drawnPlain = Effect.map(drawnOn([]), ({ bytes }) => ({ bytes, isCurrent: true }))
          const withoutMap = style?.tiles === undefined
            ? drawnPlain
            : Effect.map(getOrMake(plain, drawnPlain), ({ bytes }) => ({ bytes, isCurrent: false }))
          const made = Effect.gen(function*() {
            const { frame } = project(
              coordinatesOf(positionsOf(order.geometry)),
              coordinatesOf(readWaypoints(waypoints).map(({ coord }) => coord)),
              CARD_MAP
            )
            const { height, width } = CARD_GROUND
            const tiles = style === undefined ? [] : yield* style.baseMap(frame, width, height)
            if (tiles.length === 0) return yield* withoutMap
            const { bytes, hasMap } = yield* drawnOn(tiles)
            return { bytes, isCurrent: hasMap }
          })
          return {
            digest,
            visibility: seen.visibility,
            // A card without its map has another tag, and is made again for the next request.
            drawn: Effect.map(getOrMake(digest, made), ({ bytes, isCurrent }) => ({
              digest: isCurrent ? digest : plain,
              bytes
            }))
          }
        }, Effect.provideService(CountsUses, false))
      })
    })
  )
}

/** Drawing takes this many times longer than reading a route's body, which runs inline up to `INLINE_BYTES`. */
const DRAWING_WEIGHT = 4

/** Up to this side the simplified line, of at most 200 positions, is drawn: it is read for the digest anyway. */
const MAX_SIMPLIFIED_SIDE = 400

const isSmall = ({ height, profile, width }: PictureOptions) =>
  !profile && Math.max(width, height) <= MAX_SIMPLIFIED_SIDE

/** The number of the rules by which pictures are drawn: others make other tags. */
const DRAWING = 2

/** Returns a digest of all that the picture shows to its viewer; the simplified line changes with the whole one. */
const pictureDigest = (
  { cutRevision, geometry, id, name, provenance, version, waypoints }: StoredRoute,
  format: PictureFormat,
  { height, profile, theme, width }: PictureOptions
) => {
  const shown = [DRAWING, id, version, cutRevision, name, provenance, waypoints, format, width, height, theme, profile]
  return digestOf(shown, geometry)
}

/** The attribution of a source is HTML. */
const withoutMarkup = (text: string | undefined) => text?.replaceAll(/<[^>]*>/g, "").replaceAll("&copy;", "©").trim()

const digestOf = (shown: unknown, geometry: StoredRoute["geometry"] = "") =>
  createHash("sha256").update(JSON.stringify(shown)).update(geometry).digest("base64url").slice(0, DIGEST_LENGTH)

const DIGEST_LENGTH = 22
