import { Console, Effect, Schedule } from "effect"
import { type Cluster, type Machine, WHOLE } from "../cluster.ts"
import { type Fault, type Run } from "../fault.ts"
import { followers } from "../followers.ts"
import { queryAt } from "../postgres.ts"
import { loaded } from "../segment.ts"

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

/** Six of eleven calls read, four store one row, and one stores 21: 50 rows a second. */
const PER_SECOND = 22
const BATCH = 21

/** Accounts that clients keep a copy of. */
const COPIED = 4

/** Milliseconds from the first write that the new leader takes to a second as good as before. */
const BACK_WITHIN = 2000

const nothing = () => Effect.void

const seconds = (time: number) => `${(time / 1000).toFixed(1)} s`

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

/** Each replaces the leader. They are in turn. */
const PROMOTIONS: ReadonlyArray<Failover> = [
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
  toLeader("machine-frozen", "the leader's machine is frozen", WHOLE, "SIGSTOP")
]

const LAG = "SELECT count(pg_logical_emit_message(false, 'torture', repeat('x', 1000000))) FROM generate_series(1, 100)"

const FAILOVERS: ReadonlyArray<Failover> = [
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
    // Frozen ones count as synchronous until their leases end: commits wait meanwhile.
    strike: (_, [, near, far]) =>
      Effect.as(
        Effect.forEach([near, far], (machine) => machine.signal(["patroni", "postgres"], "SIGSTOP")),
        undefined
      ),
    mend: (cluster, [, near, far]) =>
      Effect.andThen(
        Effect.forEach([near, far], (machine) => machine.signal(["patroni", "postgres"], "SIGCONT")),
        started(cluster)
      ),
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

interface Round {
  readonly key: string
  /** Lists of strangers, and how many failed: those that came while there was no leader, and all. */
  readonly lists: ReadonlyArray<readonly [string, number]>
  readonly writes: number
  readonly times: ReadonlyArray<readonly [string, number]>
}

const middleOf = (times: ReadonlyArray<number>) => times.toSorted((one, other) => one - other)[times.length >> 1] ?? NaN

const sum = (some: ReadonlyArray<number>) => some.reduce((all, one) => all + one, 0)

const figureOf = (rounds: ReadonlyArray<Round>) => {
  const column = (key: "lists" | "times") =>
    rounds[0]?.[key].map(([what], n) => ({ what, all: rounds.map((round) => round[key][n]?.[1] ?? NaN) })) ?? []
  const times = column("times").map(({ all, what }) =>
    `${what} ${seconds(middleOf(all))}${all.length > 1 ? `, ${seconds(Math.max(...all))} at most` : ""}`
  )
  const lists = column("lists").map(({ all, what }) => `${sum(all)} ${what}`)
  const writes = sum(rounds.map((round) => round.writes))
  return `${rounds[0]?.key}: ${rounds.length} times, ${writes} writes; lists of strangers: ${lists.join(", ")}; ${
    times.join("; ")
  }`
}

const failover = Effect.fnUntraced(
  function*(run: Run, cluster: Cluster, kinds: ReadonlyArray<Failover>, machines: Cluster["whole"]) {
    const state = { kind: kinds[0], round: 0 }
    const prefix = () => `${run.prefix}${state.kind?.key}-${state.round}`
    const { clients, outcome, recorder, recovered, recoveries, rounds } = yield* loaded(
      run,
      cluster,
      PER_SECOND,
      { batch: BATCH, prefix }
    )
    const { counts, end } = yield* followers(
      cluster.asking,
      cluster.accounts.slice(0, COPIED),
      recorder,
      prefix
    )
    const done: Array<Round> = []

    const round = Effect.fnUntraced(function*({ hold = 0, key, mend, strike }: Failover) {
      const present = yield* machines
      yield* clients.settled
      const [before, struck] = [counts(), performance.now()]
      const replaced = yield* strike(cluster, present)
      if (replaced === undefined) {
        yield* Effect.sleep(hold)
        yield* mend(cluster, present)
      } else {
        yield* cluster.leader(replaced)
      }
      const [led, since] = [counts(), performance.now()]
      const recovery = yield* recovered(since)
      if (replaced !== undefined) yield* mend(cluster, present)
      yield* clients.settled
      const after = counts()
      const { count, longest } = recorder.writesSince(struck)
      const one: Round = {
        key,
        lists: [
          ["without a leader", led.lists - before.lists],
          ["of these failed", led.unread - before.unread],
          ["then", after.lists - led.lists],
          ["of these failed", after.unread - led.unread]
        ],
        writes: count,
        times: [
          ["new leader after", since - struck],
          ["first write then after", recorder.writesSince(since).first],
          ["as many calls as before after", recovery],
          ["longest write", longest]
        ]
      }
      done.push(one)
      const problems = [...recorder.wrong].map(([text, count]) => `; ${text}: ${count}`).join("")
      yield* Console.log(`${figureOf([one])}; ${recorder.replies(struck)}${problems}`)
    })

    yield* rounds(run.options.rounds ?? kinds.length, (n) => {
      Object.assign(state, { kind: kinds[n % kinds.length], round: n })
      return state.kind === undefined ? Effect.void : round(state.kind)
    })
    const [leader] = yield* cluster.safe
    yield* clients.end
    const deletions = yield* end(leader.url)
    recorder.reportSlowness(
      `as many calls succeeded as before only after more than ${BACK_WITHIN} ms`,
      recoveries.filter((time) => time > BACK_WITHIN).length
    )
    const of = ({ key }: Failover) => done.filter((one) => one.key === key)
    return yield* outcome(leader.url, [deletions, ...kinds.map(of).filter(({ length }) => length > 0).map(figureOf)])
  },
  Effect.scoped
)

const faultOf = (
  key: string,
  title: string,
  kinds: ReadonlyArray<Failover>,
  of: (cluster: Cluster) => Cluster["whole"]
): Fault => ({
  key: `failover-${key}`,
  title,
  isInShortForm: false,
  run: (run) => Effect.flatMap(run.cluster, (cluster) => failover(run, cluster, kinds, of(cluster)))
})

export const failovers: ReadonlyArray<Fault> = [
  faultOf("promotions", "the leader is replaced, killed, frozen", PROMOTIONS, ({ safe }) => safe),
  ...FAILOVERS.map((one) => faultOf(one.key, one.title, [one], ({ whole }) => whole))
]
