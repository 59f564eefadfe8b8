import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAsBlob, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync } from "node:zlib"
import { archiveOfPacked } from "../../test/support/Bombs.ts"
import { temporaryDirectory } from "../../test/support/TemporaryDirectory.ts"
import { postmaster } from "../measure.ts"
import { childrenTimes, forgetPeak, peakMemory, processorTime, residentMemory, service } from "../processes.ts"
import { database, seed, signedIn } from "../seed.ts"
import { sum } from "../statistics.ts"

const RIDES = 300
const POINTS = 22_000

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

it.live(
  "moving 300 rides of 5 MB takes the service less than a minute of processor time and 200 MiB",
  () =>
    Effect.gen(function*() {
      const archive = join(yield* temporaryDirectory, "rides.zip")
      const size = ride(0).size
      writeFileSync(archive, archiveOfPacked(Array.from({ length: RIDES }, (_, index) => ride(index))))
      const url = yield* database
      const server = yield* service(url)
      yield* seed(url)
      const headers = yield* signedIn(server.origin, "bench@example.com")
      const postgres = yield* postmaster(url)
      const before = yield* Effect.all([processorTime(server.pid), childrenTimes(postgres), residentMemory(server.pid)])
      yield* forgetPeak(server.pid)
      const last = yield* Effect.promise(async () => {
        const response = await fetch(`${server.origin}/api/v1/users/me/import`, {
          method: "POST",
          headers: { ...headers, "content-type": "application/zip" },
          body: await openAsBlob(archive)
        })
        return (await response.text()).trim().split("\n").at(-1) ?? ""
      })
      const after = yield* Effect.all([processorTime(server.pid), childrenTimes(postgres), peakMemory(server.pid)])
      const seconds = (after[0] - before[0]) / 1000
      const inPostgres = sum([...after[1]].map(([pid, time]) => time - (before[1].get(pid) ?? 0))) / 1000
      const mib = after[2] - before[2]
      yield* Effect.log(
        `${RIDES} rides of ${(size / 1e6).toFixed(1)} MB: ${seconds.toFixed(1)} s of processor time, `
          + `${inPostgres.toFixed(1)} s in PostgreSQL, ${mib.toFixed(0)} MiB more`
      )
      assert.include(last, `"imported":${RIDES}`)
      assert.isBelow(seconds, MAX_SECONDS)
      assert.isBelow(mib, MAX_MIB)
    }),
  600_000
)
