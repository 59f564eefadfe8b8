import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { DEFAULT_PICTURE, type PictureOptions } from "../../src/schema/Picture.ts"
import { ROUTE, type StoredRoute } from "../../src/schema/Route.ts"
import { INLINE_BYTES } from "../../src/services/admission/HeavyWork.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { CurrentMapStyle, type MapStyle } from "../../src/services/pictures/MapStyle.ts"
import { Pictures } from "../../src/services/pictures/Pictures.ts"
import { Routes } from "../../src/services/routes/Routes.ts"
import { CountsUses } from "../../src/services/sharing/LinkUses.ts"
import { directWork } from "../support/DirectWork.ts"

const GEOMETRY = "[[9,47],[9.1,47.05]]"

const WAYPOINTS = `[{"coord":[9,47],"type":"routed"}]`

const STORED: StoredRoute = {
  ...ROUTE,
  routingPreferences: null,
  waypoints: WAYPOINTS,
  geometry: GEOMETRY,
  polyline6: undefined,
  segments: undefined,
  cues: undefined,
  version: 1
}

interface Stub {
  /** The forms of the line that were read, and whether reading counted as a use of a link. */
  readonly read: Array<readonly [form: string | undefined, counts: boolean | "files"]>
  readonly jobs: Array<readonly [name: string, bytes: number]>
  readonly inputs: Array<unknown>
  version: number
}

const withPictures = <A, E>(
  test: (stub: Stub) => Effect.Effect<A, E, Pictures>,
  style: Partial<MapStyle> | undefined = undefined
) => {
  const stub: Stub = { read: [], jobs: [], inputs: [], version: 1 }
  const stubs = Layer.mergeAll(
    Layer.mock(Lanes, { downloads: (work) => work }),
    directWork(({ bytes, input, name }) => {
      stub.jobs.push([name, bytes])
      stub.inputs.push(input)
    }),
    Layer.mock(Routes, {
      get: (_ref, _viewer, form) =>
        Effect.map(CountsUses, (counts) => {
          stub.read.push([form, counts])
          return { ...STORED, version: stub.version }
        })
    }),
    Layer.succeed(
      CurrentMapStyle,
      Effect.succeed(Option.map(Option.fromUndefinedOr(style), (given): MapStyle => ({
        url: new URL("https://m.example.com"),
        origins: [],
        tiles: undefined,
        baseMap: () => Effect.succeed([]),
        ...given
      })))
    )
  )
  return test(stub).pipe(Effect.provide(Pictures.layer.pipe(Layer.provide(stubs))), Effect.scoped)
}

const find = (options: Partial<PictureOptions>, format: "svg" | "png" = "svg") =>
  Effect.gen(function*() {
    const { bytes, digest } = yield* Pictures.use(({ find }) =>
      find(ROUTE.id, Option.none(), format, { ...DEFAULT_PICTURE, ...options })
    )
    yield* bytes
    return digest
  })

it.effect("a picture up to 400 pixels without a profile is of the simplified line, and no use of a link", () =>
  Effect.gen(function*() {
    const formsOf = (options: Partial<PictureOptions>) => withPictures((stub) => Effect.as(find(options), stub.read))
    const simplified: Stub["read"][number] = ["simplified", false]
    const whole: Stub["read"] = [simplified, ["full", false], simplified]
    assert.deepStrictEqual(yield* formsOf({ width: 400, height: 400 }), [simplified])
    assert.deepStrictEqual(yield* formsOf({ width: 401, height: 64 }), whole)
    assert.deepStrictEqual(yield* formsOf({ width: 64, height: 401 }), whole)
    assert.deepStrictEqual(yield* formsOf({ width: 64, height: 64, profile: true }), whole)
  }))

it.effect("a picture in SVG counts as four times its text, and one in PNG as more than is drawn at once", () => {
  const length = GEOMETRY.length + WAYPOINTS.length
  return Effect.gen(function*() {
    const jobsOf = (format: "svg" | "png") =>
      withPictures((stub) => Effect.as(find({ width: 64, height: 64 }, format), stub.jobs))
    assert.deepStrictEqual(yield* jobsOf("svg"), [["draw SVG", 4 * length]])
    assert.deepStrictEqual(yield* jobsOf("png"), [["draw PNG", INLINE_BYTES + length]])
  })
})

it.effect("a picture is kept under its digest, unless the route changes while it is drawn", () =>
  withPictures((stub) =>
    Effect.gen(function*() {
      const small = yield* find({ width: 64, height: 64 })
      assert.match(small, /^[\w-]{22}$/)
      assert.strictEqual(yield* find({ width: 64, height: 64 }), small)
      assert.strictEqual(stub.jobs.length, 1)
      const found = yield* Pictures.use(({ find }) => find(ROUTE.id, Option.none(), "svg", DEFAULT_PICTURE))
      stub.version = 2
      yield* found.bytes
      stub.version = 1
      yield* find({})
      assert.strictEqual(stub.jobs.length, 3, "the changed one was not kept")
      yield* find({})
      assert.strictEqual(stub.jobs.length, 3)
    })
  ))

const card = Effect.gen(function*() {
  const texts = { facts: [], site: "Routes", color: "#0b5cad", logo: undefined }
  const { digest, drawn } = yield* Pictures.use(({ card }) => card(ROUTE.id, () => texts))
  return { digest, drawn: (yield* drawn).digest }
})

it.effect("a card without the map that it should have has another digest, and is drawn once", () =>
  Effect.gen(function*() {
    const tiles = {
      type: "raster",
      template: "https://m.example.com",
      maxZoom: 14,
      attribution: "<a>&copy; A Map</a>"
    } as const
    yield* withPictures((stub) =>
      Effect.gen(function*() {
        const { digest, drawn } = yield* card
        assert.match(digest, /^[\w-]{22}$/)
        assert.strictEqual(drawn, `${digest}-plain`)
        assert.deepStrictEqual(yield* card, { digest, drawn })
        assert.deepStrictEqual(stub.jobs, [["draw card", INLINE_BYTES + GEOMETRY.length]])
        assert.deepInclude(stub.inputs[0], { attribution: "© OpenStreetMap contributors, © A Map" })
        assert.isTrue(stub.read.every(([form, counts]) => form === "simplified" && !counts))
      }), { tiles })
    const withoutStyle = yield* withPictures(() => card)
    assert.strictEqual(withoutStyle.drawn, withoutStyle.digest)
  }))
