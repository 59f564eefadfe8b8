import { Effect, Stream } from "effect"
import { deserialize } from "node:v8"
import type { CountBytes } from "../spool/ImportDisk.ts"
import { namelessFile } from "../spool/NamelessFile.ts"
import type { Rows, StoredBatch } from "./ListJobs.ts"

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
 * Detaches the buffer of bytes that are no longer read. The garbage collector runs once for every few MiB outside of
 * the heap: left to it, buffers cost more than all else in a large import.
 */
const free = ({ buffer }: Uint8Array<ArrayBuffer>) => Effect.sync(() => void buffer.transfer(0))

/**
 * Keeps decoded elements on the disk until all of an archive is checked, so that none is decoded twice. They are there for as
 * long as the scope is open, and count as the upload does.
 */
export const recordSpool = Effect.fnUntraced(function*<A>(count: CountBytes) {
  const file = yield* namelessFile("an upload")
  const places: Array<Place> = []

  const withBatch =
    <B, E, R>(use: (batch: Batch<A>) => Effect.Effect<B, E, R>) => ({ columns, length, position, records }: Place) =>
      Effect.flatMap(file.read(position, length), (bytes) => {
        const rows = { columns, json: bytes.subarray(records) }
        return Effect.tap(use({ records: deserialize(bytes.subarray(0, records)), rows }), () => free(bytes))
      })

  return {
    /** Takes a batch, whose bytes are gone from then on. `Unavailable` when the disk has no room for it. */
    append: Effect.fnUntraced(function*({ records, rows: { columns, json } }: StoredBatch) {
      const last = places.at(-1) ?? { position: 0, length: 0 }
      const length = records.length + json.length
      const place: Place = { position: last.position + last.length, records: records.length, length, columns }
      yield* count(length)
      yield* file.append(records)
      yield* file.append(json)
      yield* Effect.andThen(free(records), free(json))
      places.push(place)
    }),
    /** Does something with each batch, in the order in which they came, one in memory at a time. */
    forEach: <B, E, R>(use: (batch: Batch<A>) => Effect.Effect<B, E, R>) =>
      Stream.suspend(() => Stream.fromIterable(places)).pipe(Stream.mapEffect(withBatch(use)))
  }
})
