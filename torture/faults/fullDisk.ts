import { Effect } from "effect"
import { execFile } from "node:child_process"
import { chmod, mkdir, rm, statfs, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Fault, Skipped } from "../fault.ts"
import type { Recorder } from "../recorder.ts"
import { segment } from "../segment.ts"
import { visitor } from "../visitor.ts"
import { type World, world } from "../world.ts"

const run = promisify(execFile)

const SIZE = "size=400m,mode=711"

/** A disk in memory, unmounted when the scope closes. */
const smallDisk = (directory: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        await mkdir(directory, { recursive: true })
        await chmod(directory, 0o711)
        await run("mount", ["-t", "tmpfs", "-o", SIZE, "tmpfs", directory])
      },
      catch: () => new Skipped("a disk of its own takes root and tmpfs")
    }),
    () => Effect.promise(() => run("umount", ["--lazy", directory]).catch(() => undefined))
  )

const filler = (disk: string) => join(disk, "filler")

/** Leaves no free space. */
const fill = (disk: string) =>
  Effect.promise(async () => {
    const { bavail, bsize } = await statfs(disk)
    await writeFile(filler(disk), Buffer.alloc(bavail * bsize, 1)).catch(() => undefined)
  })

const reading = (world: World, recorder: Recorder) =>
  visitor(world, async (call, signal) => {
    const { status } = await call()
    if (status !== 200 && status !== 503 && !signal.aborted) {
      recorder.report(`a read while the disk was full: ${status}`)
    }
  })

/** A write of a megabyte, so that what is free within PostgreSQL's files is soon used. */
const writing = ({ accounts: [account], asking: { ask } }: World, recorder: Recorder, state: { refused: number }) =>
  Effect.promise(async (signal) => {
    const geometry = Array.from({ length: 40_000 }, (_, n) => [9 + n / 100_000, 47 + Math.sin(n) / 100])
    const body = JSON.stringify({ name: "Large", waypoints: [{ coord: [9, 47] }], geometry })
    while (!signal.aborted) {
      const { status } = await ask({ method: "POST", path: "/api/v1/routes", token: account?.token, body })
      if (status === 503) state.refused += 1
      else if (status !== 201 && !signal.aborted) recorder.report(`a long write while the disk was full: ${status}`)
    }
  })

export const fullDisk: Fault = {
  key: "full-disk",
  title: "the disk of PostgreSQL is full",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(run) {
    const disk = join(run.directory, "disk")
    yield* smallDisk(disk)
    const own = yield* world(disk, run.keeper)
    const state = { refused: 0 }
    const outcome = yield* segment(run, own, {
      inject: () => fill(disk),
      heal: () => Effect.promise(() => rm(filler(disk))),
      hold: { short: 5000, full: 10_000 },
      rounds: { short: 1, full: 1 },
      beside: (world, recorder) =>
        Effect.asVoid(
          Effect.all([reading(world, recorder), writing(world, recorder, state)], { concurrency: "unbounded" })
        )
    })
    return { ...outcome, figures: [...(outcome.figures ?? []), `${state.refused} long writes refused with 503`] }
  })
}
