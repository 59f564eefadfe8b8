import { Effect, Stream } from "effect"
import { deserialize } from "node:v8"
import type { CountBytes } from "../spool/ImportDisk.ts"
import { namelessFile } from "../spool/NamelessFile.ts"
import type { Rows, StoredBatch } from "./ListJobs.ts"

interface Place {
  readonly position: number
  readonly records: number
  readonly length: number
  readonly columns: ReadonlyArray<string>
}

export interface Batch<A> {
  readonly records: ReadonlyArray<A>
  readonly rows: Rows
}

/** Left to the garbage collector, which runs for every few MiB off the heap, buffers dominate a large import's cost. */
const free = ({ buffer }: Uint8Array<ArrayBuffer>) => Effect.sync(() => void buffer.transfer(0))

/** Spools decoded elements until the scope closes, so that none is decoded twice. Counted like the upload. */
export const recordSpool = Effect.fnUntraced(function*<A>(count: CountBytes) {
  const file = yield* namelessFile("upload")
  const places: Array<Place> = []

  const withBatch =
    <B, E, R>(use: (batch: Batch<A>) => Effect.Effect<B, E, R>) => ({ columns, length, position, records }: Place) =>
      Effect.flatMap(file.read(position, length), (bytes) => {
        const rows = { columns, json: bytes.subarray(records) }
        return Effect.tap(use({ records: deserialize(bytes.subarray(0, records)), rows }), () => free(bytes))
      })

  return {
    /** Detaches the batch's buffers. `Overloaded` when the disk has no room. */
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
    forEach: <B, E, R>(use: (batch: Batch<A>) => Effect.Effect<B, E, R>) =>
      Stream.suspend(() => Stream.fromIterable(places)).pipe(Stream.mapEffect(withBatch(use)))
  }
})
