import { Effect, Stream } from "effect"
import { deserialize } from "node:v8"
import type { CountBytes } from "./ImportDisk.ts"
import { namelessFile } from "./NamelessFile.ts"

interface Batch {
  readonly position: number
  readonly length: number
}

/**
 * Keeps decoded elements on the disk until all of an archive is checked, so that none is decoded twice. They are there for as
 * long as the scope is open, and count as the upload does.
 */
export const recordSpool = Effect.fnUntraced(function*<A>(count: CountBytes) {
  const file = yield* namelessFile("an upload")
  const batches: Array<Batch> = []

  const read = ({ length, position }: Batch) =>
    Effect.map(file.read(position, length), (bytes): ReadonlyArray<A> => deserialize(bytes))

  return {
    /** Takes an array that `node:v8` serialised. `Unavailable` when the disk has no room for it. */
    append: Effect.fnUntraced(function*(records: Uint8Array) {
      yield* count(records.length)
      yield* file.append(records)
      const last = batches.at(-1) ?? { position: 0, length: 0 }
      batches.push({ position: last.position + last.length, length: records.length })
    }),
    /** The arrays in the order in which they came, one in memory at a time. */
    batches: Stream.suspend(() => Stream.fromIterable(batches)).pipe(Stream.mapEffect(read))
  }
})
