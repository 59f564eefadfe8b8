import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Scope } from "effect"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { cluster } from "./cluster.ts"
import { type Fault, outcomeOf, type Run } from "./fault.ts"
import { FAULTS } from "./faults.ts"
import { type Keeper, keeperIn } from "./keeper.ts"
import { type Ledger, ledgerAt } from "./ledger.ts"
import { type Options, optionsOf } from "./options.ts"
import { Skipped } from "./skipped.ts"
import { isHeld, type Line, notesOf, tableOf } from "./table.ts"
import { sharedWorld } from "./world.ts"

const isNamed = (name: string) => ({ key }: Fault) => key === name || key.startsWith(`${name}-`)

const chosen = ({ isShort, only }: Options) => {
  const unknown = only.filter((name) => !FAULTS.some(isNamed(name)))
  if (unknown.length > 0) {
    throw new Error(`--only: found "${unknown.join()}", expected some of ${FAULTS.map(({ key }) => key).join(", ")}`)
  }
  if (only.length > 0) return FAULTS.filter((fault) => only.some((name) => isNamed(name)(fault)))
  return FAULTS.filter(({ isInShortForm }) => isInShortForm || !isShort)
}

/** An error of the harness is a wrong result, since it asserts nothing then. */
const broken = (cause: Cause.Cause<unknown>) =>
  outcomeOf({ late: new Map(), wrong: new Map([[`it could not be run: ${Cause.pretty(cause)}`, 1]]) }, { rounds: 0 })

const lineOf = Effect.fnUntraced(function*(fault: Fault, run: Run) {
  const began = performance.now()
  const outcome = yield* fault.run(run).pipe(
    Effect.scoped,
    Effect.catchIf((error) => error instanceof Skipped, ({ reason }) => Effect.succeed({ skipped: reason })),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.succeed(broken(cause))
    )
  )
  const line: Line = { key: fault.key, title: fault.title, outcome }
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  yield* Console.log(`${isHeld(line, run.options.isShort) ? "     " : "WRONG"} ${fault.title} (${seconds} s)`)
  return line
})

const torture = Effect.gen(function*() {
  const options = optionsOf(process.argv.slice(2))
  const faults = chosen(options)
  const directory = yield* temporaryDirectory
  const keeper: Keeper = yield* keeperIn(directory)
  const ledger: Ledger = yield* ledgerAt(options.ledger)
  yield* Console.log(`seed ${options.seed}, ledger ${options.ledger}, ${faults.length} faults`)
  const { given: world } = yield* sharedWorld(directory, keeper)
  const shared = yield* Effect.cached(Scope.provide(cluster(directory, keeper), yield* Effect.scope))
  const left = () => options.minutes === undefined ? Infinity : options.minutes * 60_000 - performance.now()
  const lines = yield* Effect.forEach(faults, (fault, n) =>
    Effect.suspend(() => {
      const budget = left() / (faults.length - n)
      const { key, title } = fault
      return budget <= 0
        ? Effect.succeed<Line>({ key, title, outcome: { skipped: "the time is over" } })
        : lineOf(fault, { options, ledger, keeper, directory, prefix: `${key}~`, budget, world, cluster: shared })
    }))
  yield* Console.log(`\n${tableOf(lines)}\n\n${lines.flatMap(notesOf).join("\n")}`)
  return lines.every((line) => isHeld(line, options.isShort))
}).pipe(Effect.scoped)

// Requests without a response would keep it alive.
NodeRuntime.runMain(Effect.map(torture, (areHeld) => process.exit(areHeld ? 0 : 1)))
