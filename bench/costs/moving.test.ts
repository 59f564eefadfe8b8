import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { openAsBlob, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync } from "node:zlib"
import { archiveOfPacked } from "../../test/support/Bombs.ts"
import { temporaryDirectory } from "../../test/support/TemporaryDirectory.ts"
import { costOf } from "../processes.ts"
import { seeded } from "../seed.ts"

const RIDES = 300
const POINTS = 22_000

const MAX_SECONDS = 60
const MAX_MIB = 200

/** The ride has a position a second with the measurements of a bicycle computer: 5 MB. */
const points = Array.from({ length: POINTS }, (_, n) => {
  const lat = (47 + Math.sin(n / 900) / 9 + n / 1e6).toFixed(7)
  const lon = (9 + n / 40_000 + Math.cos(n / 70) / 999).toFixed(7)
  const ele = (450 + Math.sin(n / 99) * 30).toFixed(1)
  const time = new Date(Date.UTC(2025, 5, 1, 8) + n * 1000).toISOString()
  const heart = `<gpxtpx:TrackPointExtension><gpxtpx:hr>${90 + n % 90}</gpxtpx:hr></gpxtpx:TrackPointExtension>`
  return `<trkpt lat="${lat}" lon="${lon}"><ele>${ele}</ele><time>${time}</time>`
    + `<extensions><power>${n % 400}</power>${heart}</extensions></trkpt>\n`
}).join("")

const GPX =
  `<gpx version="1.1" creator="bench" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1">`

const ride = (index: number) => {
  const first = `<trkpt lat="${46 + index / 1000}" lon="9"/>`
  const text = `${GPX}<trk><name>Ride ${index}</name><trkseg>${first}\n${points}</trkseg></trk></gpx>`
  return { name: `activities/${index}.gpx`, packed: deflateRawSync(text, { level: 1 }), size: Buffer.byteLength(text) }
}

it.live(
  "moving 300 rides of 5 MB takes the service less than a minute of processor time and 200 MiB",
  () =>
    Effect.gen(function*() {
      const archive = join(yield* temporaryDirectory, "rides.zip")
      const size = ride(0).size
      writeFileSync(archive, archiveOfPacked(Array.from({ length: RIDES }, (_, index) => ride(index))))
      const server = yield* seeded()
      const moved = Effect.promise(async () => {
        const response = await fetch(`${server.origin}/api/v1/users/me/import`, {
          method: "POST",
          headers: { ...server.session, "content-type": "application/zip" },
          body: await openAsBlob(archive)
        })
        return (await response.text()).trim().split("\n").at(-1) ?? ""
      })
      const { database, growth, processor, result: last } = yield* costOf(server, moved)
      yield* Effect.log(
        `${RIDES} rides of ${(size / 1e6).toFixed(1)} MB: ${(processor / 1000).toFixed(1)} s of processor time, `
          + `${(database / 1000).toFixed(1)} s in PostgreSQL, ${growth.toFixed(0)} MiB more`
      )
      assert.include(last, `"imported":${RIDES}`)
      assert.isBelow(processor / 1000, MAX_SECONDS)
      assert.isBelow(growth, MAX_MIB)
    }),
  600_000
)
