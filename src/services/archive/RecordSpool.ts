import { Effect, Stream } from "effect"
import { deserialize } from "node:v8"
import type { CountBytes } from "./ImportDisk.ts"
import type { Rows, StoredBatch } from "./ListJobs.ts"
import { namelessFile } from "./NamelessFile.ts"

/** Where a batch is in the file: its records, and behind them its rows. */
interface Place {
  readonly position: number
  readonly records: number
  readonly length: number
  readonly columns: ReadonlyArray<string>
}

/** A batch of elements that may be written. */
export interface Batch<A> {
  readonly records: ReadonlyArray<A>
  readonly rows: Rows
}

/**
 * Keeps decoded elements on the disk until all of an archive is checked, so that none is decoded twice. They are there for as
 * long as the scope is open, and count as the upload does.
 */
export const recordSpool = Effect.fnUntraced(function*<A>(count: CountBytes) {
  const file = yield* namelessFile("an upload")
  const places: Array<Place> = []

  const read = ({ columns, length, position, records }: Place) =>
    Effect.map(file.read(position, length), (bytes): Batch<A> => ({
      records: deserialize(bytes.subarray(0, records)),
      rows: { columns, json: bytes.subarray(records) }
    }))

  return {
    /** `Unavailable` when the disk has no room for it. */
    append: Effect.fnUntraced(function*({ records, rows: { columns, json } }: StoredBatch) {
      const length = records.length + json.length
      yield* count(length)
      yield* file.append(records)
      yield* file.append(json)
      const last = places.at(-1) ?? { position: 0, length: 0 }
      places.push({ position: last.position + last.length, records: records.length, length, columns })
    }),
    /** The batches in the order in which they came, one in memory at a time. */
    batches: Stream.suspend(() => Stream.fromIterable(places)).pipe(Stream.mapEffect(read))
  }
})
