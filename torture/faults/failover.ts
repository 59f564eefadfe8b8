import { Effect, Schedule } from "effect"
import { type Cluster, type Machine, WHOLE } from "../cluster.ts"
import { type Fault, outcomeOf, type Run } from "../fault.ts"
import { followers } from "../followers.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { queryAt } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { awaited, warmed } from "../segment.ts"

interface Failover {
  readonly key: string
  readonly title: string
  /** Returns the leader that another machine has to replace, if one has to. */
  readonly strike: (cluster: Cluster, machines: Machines) => Effect.Effect<Machine | undefined>
  readonly mend: (cluster: Cluster, machines: Machines) => Effect.Effect<void>
  /** Milliseconds between the two where no machine is replaced. */
  readonly hold?: number
}

type Machines = Effect.Success<Cluster["whole"]>

/** Two of five calls write. */
const PER_SECOND = 50

/** Milliseconds from the first write that the new leader takes to a second as good as before. */
const BACK_WITHIN = 2000

const WAITED_FOR = 60_000

const nothing = () => Effect.void

const seconds = (times: ReadonlyArray<number>) => times.map((time) => (time / 1000).toFixed(1)).join(", ")

const started = ({ machines }: Cluster) => Effect.forEach(machines, ({ start }) => start, { discard: true })

const toLeader = (
  key: string,
  title: string,
  parts: Parameters<Machine["signal"]>[0],
  name: "SIGKILL" | "SIGSTOP"
): Failover => ({
  key,
  title,
  strike: (_, [leader]) => Effect.as(leader.signal(parts, name), leader),
  mend: (cluster, [leader]) => Effect.andThen(leader.signal(parts, "SIGCONT"), started(cluster))
})

const LAG = "SELECT count(pg_logical_emit_message(false, 'torture', repeat('x', 1000000))) FROM generate_series(1, 100)"

const FAILOVERS: ReadonlyArray<Failover> = [
  {
    key: "switchover",
    title: "a switchover",
    strike: ({ control }, [leader]) =>
      Effect.as(control("switchover", "routes", "--leader", leader.name, "--force"), leader),
    mend: nothing
  },
  toLeader("postgres-killed", "the leader's PostgreSQL is killed", ["postgres"], "SIGKILL"),
  toLeader("machine-killed", "the leader's machine is killed", WHOLE, "SIGKILL"),
  toLeader("postgres-frozen", "the leader's PostgreSQL is frozen", ["postgres"], "SIGSTOP"),
  toLeader("machine-frozen", "the leader's machine is frozen", WHOLE, "SIGSTOP"),
  {
    key: "etcd",
    title: "etcd is away",
    strike: ({ machines }) =>
      Effect.as(Effect.forEach(machines, (machine) => machine.signal(["etcd"], "SIGKILL")), undefined),
    mend: started,
    hold: 30_000
  },
  {
    key: "rolling",
    title: "rolling restart of PostgreSQL",
    strike: ({ control }) => Effect.as(control("restart", "routes", "--force"), undefined),
    mend: nothing,
    hold: 0
  },
  {
    key: "standbys",
    title: "both standbys are away",
    strike: (_, [, near, far]) =>
      Effect.as(
        Effect.forEach([near, far], (machine) => machine.signal(["patroni", "postgres"], "SIGKILL")),
        undefined
      ),
    mend: started,
    hold: 25_000
  },
  {
    key: "behind",
    title: "a standby is 100 MB behind, the leader is killed",
    strike: Effect.fnUntraced(function*(_, [leader, , far]) {
      yield* queryAt(far.url, "SELECT pg_wal_replay_pause()")
      yield* queryAt(leader.url, LAG)
      yield* leader.signal(["postgres"], "SIGKILL")
      return leader
    }),
    // Patroni may be restarting it, to follow another leader.
    mend: (_, [, , far]) =>
      queryAt(far.url, "SELECT pg_wal_replay_resume()").pipe(
        Effect.sandbox,
        Effect.retry({ schedule: Schedule.spaced("1 second"), times: 60 }),
        Effect.orDie,
        Effect.asVoid
      )
  },
  {
    key: "twice",
    title: "two failovers in a minute",
    strike: Effect.fnUntraced(function*(cluster, [leader]) {
      yield* leader.signal(["postgres"], "SIGKILL")
      yield* cluster.leader(leader)
      const [next] = yield* cluster.whole
      yield* next.signal(["postgres"], "SIGKILL")
      return next
    }),
    mend: nothing
  }
]

const failover = Effect.fnUntraced(function*(run: Run, cluster: Cluster, { hold = 0, mend, strike }: Failover) {
  const began = performance.now()
  const recorder = makeRecorder()
  const { accounts, asking } = cluster
  const clients = yield* load({
    asking,
    accounts,
    ledger: run.ledger,
    recorder,
    prefix: run.prefix,
    perSecond: PER_SECOND
  })
  const endFollowers = yield* followers(asking, accounts, recorder, run.prefix)
  const rate = yield* warmed(recorder, began, PER_SECOND)
  recorder.begin()
  const [leaderless, recoveries]: [Array<number>, Array<number>] = [[], []]

  const round = Effect.gen(function*() {
    const machines = yield* cluster.whole
    yield* clients.settled
    const struck = performance.now()
    const replaced = yield* strike(cluster, machines)
    if (replaced === undefined) {
      yield* Effect.sleep(hold)
      yield* mend(cluster, machines)
    } else {
      yield* cluster.leader(replaced)
      leaderless.push(performance.now() - struck)
    }
    const since = performance.now()
    recoveries.push(yield* awaited(() => recorder.recovery(since, rate), since, WAITED_FOR))
    if (replaced !== undefined) yield* mend(cluster, machines)
  })

  const wanted = run.options.rounds ?? 1
  while (recoveries.length < wanted && (recoveries.length === 0 || performance.now() - began < run.budget)) yield* round
  const [leader] = yield* cluster.whole
  yield* clients.end
  const done = yield* endFollowers(leader.url)
  recorder.reportSlowness(
    `as many calls succeeded as before only after more than ${BACK_WITHIN} ms`,
    recoveries.filter((time) => time > BACK_WITHIN).length
  )
  const { acknowledged, lost, twice, unheardOf } = yield* audit(run.ledger, run.prefix, leader.url)
  recorder.report("a row that no client has created", unheardOf)
  return outcomeOf(recorder, {
    rounds: recoveries.length,
    requests: recorder.requests(),
    lost,
    twice,
    longestOutage: recorder.longestOutage(),
    recovery: Math.max(...recoveries),
    figures: [
      `${acknowledged} writes acknowledged; ${done}; ${recorder.replies()}`,
      `seconds to a new leader: ${seconds(leaderless)}; then to a second as good as before: ${seconds(recoveries)}`
    ]
  })
}, Effect.scoped)

export const failovers: ReadonlyArray<Fault> = FAILOVERS.map((one) => ({
  key: `failover-${one.key}`,
  title: one.title,
  isInShortForm: false,
  run: (run) => Effect.flatMap(run.cluster, (cluster) => failover(run, cluster, one))
}))
