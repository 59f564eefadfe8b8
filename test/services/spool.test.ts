import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Scope, Stream } from "effect"
import { closeSync, openSync, readlinkSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Overloaded, SpoolFull } from "../../src/services/DomainErrors.ts"
import { ImportDisk, namelessFile, OpenFile, Spool, SpoolLimit } from "../../src/services/files/Spool.ts"

const LIMIT = 1024 * 1024

/** Returns a spool, and how many files it has opened. */
const counted = Effect.gen(function*() {
  const openFile = yield* OpenFile
  const opened = { count: 0 }
  const counting = () => {
    opened.count++
    return openFile()
  }
  const layers = Layer.succeed(SpoolLimit, LIMIT).pipe(Layer.merge(Layer.succeed(OpenFile, counting)))
  const spool = yield* Effect.provide(Spool, Layer.provide(Spool.layer, layers))
  return { opened, take: (texts: Iterable<string | Uint8Array>) => Effect.provide(spool.take(texts), layers) }
})

describe("a file that is sent", () => {
  it.effect("is in memory up to 128 KiB, and on the disk above, from where it comes in pieces of 64 KiB", () =>
    Effect.gen(function*() {
      const { opened, take } = yield* counted
      const texts = ["ä".repeat(50_000), Buffer.alloc(31_071, "b"), "c"]
      const short = yield* take(texts)
      assert.deepStrictEqual([short.size, opened.count], [131_072, 0])
      assert.strictEqual((yield* Stream.runCollect(short.bytes)).length, 3)
      const long = yield* take([...texts, "d", "e".repeat(2000)])
      assert.deepStrictEqual([long.size, opened.count], [133_073, 1])
      const pieces = yield* Stream.runCollect(long.bytes)
      assert.deepStrictEqual(pieces.map(({ length }) => length), [65_536, 65_536, 2001])
      assert.strictEqual(
        Buffer.concat(pieces).toString(),
        `${"ä".repeat(50_000)}${"b".repeat(31_071)}cd${"e".repeat(2000)}`
      )
    }))

  it.effect("fills the room to its last byte, and leaves it with its scope", () =>
    Effect.gen(function*() {
      const { take } = yield* counted
      const whole = Buffer.alloc(LIMIT)
      for (let n = 0; n < 2; n++) {
        const scope = yield* Scope.make()
        assert.strictEqual((yield* Scope.provide(take([whole]), scope)).size, LIMIT)
        assert.instanceOf(yield* Effect.flip(take([Buffer.alloc(131_073)])), SpoolFull)
        assert.strictEqual((yield* take(["short"])).size, 5)
        yield* Scope.close(scope, Exit.void)
      }
      assert.instanceOf(yield* Effect.flip(take([whole, "1"])), SpoolFull)
    }))

  it.effect("is generated piece by piece, as it is written", () =>
    Effect.gen(function*() {
      const made = { count: 0 }
      const texts = function*() {
        for (; made.count < 4; made.count++) yield Buffer.alloc(LIMIT / 2)
      }
      const { take } = yield* counted
      yield* Effect.flip(take(texts()))
      assert.strictEqual(made.count, 2)
    }))

  it.effect("shares 1 GiB with the others", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* SpoolLimit, 1_073_741_824)
    }))
})

const isOpenAs = (path: string, descriptor: number) => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) === path
  } catch {
    return false
  }
}

describe("a file without a name", () => {
  it.effect("gives what was written at each position, and stays open where it was given away", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "spool-"))),
        (directory) => Effect.promise(() => rm(directory, { recursive: true }))
      )
      const path = join(directory, "file")
      const openFile = () => Promise.resolve(openSync(path, "w+"))
      const scope = yield* Scope.make()
      const file = yield* Scope.provide(namelessFile("upload"), scope).pipe(Effect.provideService(OpenFile, openFile))
      yield* file.append(Buffer.from("01234"))
      yield* file.append(Buffer.from("56789"))
      assert.strictEqual((yield* file.read(3, 4)).toString(), "3456")
      assert.strictEqual((yield* file.read(8, 4)).toString(), "89")
      file.giveAway()
      yield* Scope.close(scope, Exit.void)
      writeFileSync(file.descriptor, "a")
      assert.strictEqual(yield* file.size, 11)
      const own = yield* Effect.scoped(namelessFile("upload")).pipe(Effect.provideService(OpenFile, openFile))
      assert.deepStrictEqual([isOpenAs(path, file.descriptor), isOpenAs(path, own.descriptor)], [true, false])
      closeSync(file.descriptor)
    }))
})

describe("the disk space of uploads", () => {
  it.effect("is shared up to its last byte, and free again with the scope of an upload", () =>
    Effect.gen(function*() {
      const disk = yield* ImportDisk
      const [first, second] = [yield* Scope.make(), yield* Scope.make()]
      const one = yield* Scope.provide(disk.share, first)
      const other = yield* Scope.provide(disk.share, second)
      yield* one(1000)
      yield* other(24)
      const refusal = yield* Effect.flip(one(1))
      assert.deepInclude(refusal, { reason: "uploads" })
      assert.instanceOf(refusal, Overloaded)
      assert.strictEqual(refusal.retryAfterSeconds, 30)
      yield* Scope.close(first, Exit.void)
      yield* other(1000)
      assert.instanceOf(yield* Effect.flip(other(1)), Overloaded)
      yield* Scope.close(second, Exit.void)
      yield* Effect.scoped(Effect.flatMap(disk.share, (count) => count(1024)))
    }).pipe(
      Effect.provide(Layer.provide(
        ImportDisk.layer,
        ConfigProvider.layer(ConfigProvider.fromEnv({ env: { IMPORT_DISK_BUDGET: "1 KiB" } }))
      ))
    ))
})
