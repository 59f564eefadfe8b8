import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Scope } from "effect"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { cluster } from "./cluster.ts"
import type { Fault, Outcome, Run } from "./fault.ts"
import { FAULTS, SHORT_FAULTS } from "./faults.ts"
import { keeperIn } from "./keeper.ts"
import { ledgerAt } from "./ledger.ts"
import { optionsOf } from "./options.ts"
import { makeRecorder } from "./recorder.ts"
import { isHeld, type Line, notesOf, tableOf } from "./table.ts"
import { healed, world } from "./world.ts"

const isNamed = (name: string) => ({ key }: Fault) => key === name || key.startsWith(`${name}-`)

const chosen = ({ isShort, only }: ReturnType<typeof optionsOf>) => {
  const unknown = only.filter((name) => !FAULTS.some(isNamed(name)))
  if (unknown.length > 0) {
    throw new Error(`--only: found "${unknown.join()}", expected some of ${FAULTS.map(({ key }) => key).join(", ")}`)
  }
  if (only.length > 0) return FAULTS.filter((fault) => only.some((name) => isNamed(name)(fault)))
  return isShort ? SHORT_FAULTS : FAULTS
}

const lineOf = Effect.fnUntraced(function*({ key, run: injected, title }: Fault, run: Run) {
  const { recorder } = run
  const began = performance.now()
  const outcomeOf = (known: Partial<Outcome>): Outcome => ({
    rounds: 1,
    requests: recorder.requests(),
    lost: 0,
    twice: 0,
    wrong: recorder.wrong,
    late: recorder.late,
    ...known
  })
  const outcome = yield* injected(run).pipe(
    Effect.scoped,
    Effect.map(outcomeOf),
    Effect.catchTag("Skipped", ({ reason }) => Effect.succeed({ skipped: reason })),
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
      // An error of the harness is a wrong result, since it asserts nothing then.
      recorder.report(`it could not be run: ${Cause.pretty(cause)}`)
      return Effect.succeed(outcomeOf({ rounds: 0 }))
    })
  )
  const line: Line = { key, title, outcome }
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  yield* Console.log(`${isHeld(line, run.form) ? "     " : "WRONG"} ${title} (${seconds} s)`)
  return line
})

const torture = Effect.gen(function*() {
  const options = optionsOf(process.argv.slice(2))
  const faults = chosen(options)
  const form = options.isShort ? "short" : "full"
  const directory = yield* temporaryDirectory
  const keeper = yield* keeperIn(directory)
  const ledger = yield* ledgerAt(options.ledger)
  yield* Console.log(`seed ${options.seed}, ledger ${options.ledger}, ${faults.length} faults`)
  const scope = yield* Effect.scope
  const shared = {
    form,
    wanted: options.rounds,
    seed: options.seed,
    ledger,
    keeper,
    directory,
    world: Effect.flatMap(yield* Effect.cached(Scope.provide(world(directory, keeper), scope)), healed),
    cluster: yield* Effect.cached(Scope.provide(cluster(directory, keeper), scope))
  } as const
  const left = () => options.minutes === undefined ? Infinity : options.minutes * 60_000 - performance.now()
  const lines = yield* Effect.forEach(faults, (fault, n) =>
    Effect.suspend(() => {
      const budget = left() / (faults.length - n)
      const { key, title } = fault
      return budget <= 0
        ? Effect.succeed<Line>({ key, title, outcome: { skipped: "the time is over" } })
        : lineOf(fault, { ...shared, recorder: makeRecorder(), prefix: `${key}~`, budget })
    }))
  yield* Console.log(`\n${tableOf(lines)}\n\n${lines.flatMap(notesOf).join("\n")}`)
  return lines.every((line) => isHeld(line, form))
}).pipe(Effect.scoped)

// Requests without a response would keep it alive.
NodeRuntime.runMain(Effect.map(torture, (areHeld) => process.exit(areHeld ? 0 : 1)))
