import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { openAsBlob, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync } from "node:zlib"
import { signedIn } from "../../test/support/Actors.ts"
import { archiveOfPacked } from "../../test/support/Bombs.ts"
import { temporaryDirectory } from "../../test/support/TemporaryDirectory.ts"
import { TestServer } from "../../test/support/TestServer.ts"

const RIDES = 300
const POINTS = 22_000
const MIB = 1024 * 1024

const MAX_SECONDS = 60
const MAX_MIB = 200

/** A ride with a position a second and what a bicycle computer measures: 5 MB. */
const points = Array.from({ length: POINTS }, (_, n) => {
  const [lat, lon] = [47 + Math.sin(n / 900) / 9 + n / 1e6, 9 + n / 40_000 + Math.cos(n / 70) / 999]
  const time = new Date(Date.UTC(2025, 5, 1, 8) + n * 1000).toISOString()
  return `<trkpt lat="${lat.toFixed(7)}" lon="${lon.toFixed(7)}"><ele>${
    (450 + Math.sin(n / 99) * 30).toFixed(1)
  }</ele><time>${time}</time>`
    + `<extensions><power>${n % 400}</power><gpxtpx:TrackPointExtension><gpxtpx:hr>${
      90 + n % 90
    }</gpxtpx:hr></gpxtpx:TrackPointExtension>`
    + "</extensions></trkpt>\n"
}).join("")

const ride = (index: number) => {
  const text =
    `<gpx version="1.1" creator="bench" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1">`
    + `<trk><name>Ride ${index}</name><trkseg><trkpt lat="${
      46 + index / 1000
    }" lon="9"/>\n${points}</trkseg></trk></gpx>`
  return { name: `activities/${index}.gpx`, packed: deflateRawSync(text, { level: 1 }), size: Buffer.byteLength(text) }
}

/** The most memory of the process while work runs, above what it had before. */
const growthOf = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = process.memoryUsage.rss()
    const most = { bytes: before }
    const timer = setInterval(() => {
      most.bytes = Math.max(most.bytes, process.memoryUsage.rss())
    }, 50)
    const value = yield* Effect.ensuring(work, Effect.sync(() => clearInterval(timer)))
    return { value, bytes: most.bytes - before }
  })

layer(TestServer.layer())("moving house", (it) => {
  it.effect(
    "with 300 rides of 5 MB takes less than a minute of processor time and 200 MiB",
    () =>
      Effect.gen(function*() {
        const archive = join(yield* temporaryDirectory, "rides.zip")
        const size = ride(0).size
        writeFileSync(archive, archiveOfPacked(Array.from({ length: RIDES }, (_, index) => ride(index))))
        const rider = yield* signedIn
        const { origin } = yield* TestServer
        const sent = Effect.promise(async () => {
          const response = await fetch(`${origin}/api/v1/users/me/import`, {
            method: "POST",
            headers: { cookie: rider.cookie, "content-type": "application/zip" },
            body: await openAsBlob(archive)
          })
          return (await response.text()).trim().split("\n").at(-1) ?? ""
        })
        const cpu = process.cpuUsage()
        const began = Date.now()
        const { bytes, value } = yield* growthOf(sent)
        const { system, user } = process.cpuUsage(cpu)
        const seconds = (system + user) / 1e6
        yield* Effect.log(
          `${RIDES} rides of ${(size / 1e6).toFixed(1)} MB: ${seconds.toFixed(1)} s of processor time, `
            + `${((Date.now() - began) / 1000).toFixed(1)} s, ${(bytes / MIB).toFixed(0)} MiB more`
        )
        assert.include(value, `"imported":${RIDES}`)
        assert.isBelow(seconds, MAX_SECONDS)
        assert.isBelow(bytes / MIB, MAX_MIB)
      }),
    600_000
  )
})
