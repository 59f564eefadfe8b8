import { Console, Effect, Schedule } from "effect"
import { type Cluster, type Machine, WHOLE } from "../cluster.ts"
import { type Fault, rounds, type Run } from "../fault.ts"
import { followers } from "../followers.ts"
import { queryAt } from "../postgres.ts"
import { loaded } from "../segment.ts"

type Machines = Effect.Success<Cluster["whole"]>

type Step<A> = (cluster: Cluster, machines: Machines) => Effect.Effect<A>

/** `strike` returns the leader that another machine has to replace, or `mend` follows after `hold` milliseconds. */
type Failover =
  & { readonly key: string; readonly title: string; readonly mend?: Step<unknown> }
  & (
    | { readonly strike: Step<Machine>; readonly hold?: undefined }
    | { readonly strike: Step<unknown>; readonly hold: number }
  )

/** Six of eleven calls read, four store one row, and one stores 21: these are 50 rows a second. */
const PER_SECOND = 22
const BATCH = 21

/** Clients keep a copy of this many accounts. */
const COPIED = 4

/** This many milliseconds after the new leader's first write, a second has to be as good as before. */
const BACK_WITHIN = 2000

const started = ({ machines }: Cluster) => Effect.forEach(machines, ({ start }) => start)

const signalled = (some: ReadonlyArray<Machine>, parts: Parameters<Machine["signal"]>[0], name: NodeJS.Signals) =>
  Effect.forEach(some, (machine) => machine.signal(parts, name))

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

/** Each of these failovers replaces the leader. They take turns. */
const PROMOTIONS: ReadonlyArray<Failover> = [
  {
    key: "switchover",
    title: "a switchover",
    strike: ({ control }, [leader]) =>
      Effect.as(control("switchover", "routes", "--leader", leader.name, "--force"), leader)
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
    strike: ({ machines }) => signalled(machines, ["etcd"], "SIGKILL"),
    mend: started,
    hold: 30_000
  },
  {
    key: "rolling",
    title: "rolling restart of PostgreSQL",
    strike: ({ control }) => control("restart", "routes", "--force"),
    hold: 0
  },
  {
    key: "standbys",
    title: "both standbys are away",
    // Frozen standbys count as synchronous until their leases end: commits wait meanwhile.
    strike: (_, [, ...standbys]) => signalled(standbys, ["patroni", "postgres"], "SIGSTOP"),
    mend: (cluster, [, ...standbys]) =>
      Effect.andThen(signalled(standbys, ["patroni", "postgres"], "SIGCONT"), started(cluster)),
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
    // Patroni may be restarting PostgreSQL, to follow another leader.
    mend: (_, [, , far]) =>
      queryAt(far.url, "SELECT pg_wal_replay_resume()").pipe(
        Effect.sandbox,
        Effect.retry({ schedule: Schedule.spaced("1 second"), times: 60 }),
        Effect.orDie
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
    })
  }
]

interface Round {
  /** The entries count the lists of strangers without a leader, those that failed, and the same with the new leader. */
  readonly lists: Readonly<Record<"without a leader" | "of these failed" | "afterwards" | "of those failed", number>>
  readonly writes: number
  /** The times are in milliseconds. */
  readonly times: Readonly<Record<string, number>>
}

const seconds = (time: number) => `${(time / 1000).toFixed(1)} s`

const sum = (some: ReadonlyArray<number>) => some.reduce((all, one) => all + one, 0)

const middleAndMost = (times: ReadonlyArray<number>) => {
  const middle = times.toSorted((one, other) => one - other)[times.length >> 1] ?? NaN
  return `${seconds(middle)}${times.length > 1 ? `, ${seconds(Math.max(...times))} at most` : ""}`
}

const figureOf = (key: string, rounds: ReadonlyArray<Round>) => {
  const columns = (of: (round: Round) => Readonly<Record<string, number>>) =>
    Object.entries(Object.groupBy(rounds.flatMap((round) => Object.entries(of(round))), ([what]) => what))
      .map(([what, some = []]) => [what, some.map(([, value]) => value)] as const)
  const lists = columns(({ lists }) => lists).map(([what, all]) => `${sum(all)} ${what}`)
  const times = columns(({ times }) => times).map(([what, all]) => `${what} ${middleAndMost(all)}`)
  const writes = sum(rounds.map(({ writes }) => writes))
  return [
    `${key}: ${rounds.length} times, ${writes} writes`,
    `lists of strangers: ${lists.join(", ")}`,
    ...times
  ].join("; ")
}

const failover = Effect.fnUntraced(
  function*(run: Run, kinds: ReadonlyArray<Failover>, machinesOf: (cluster: Cluster) => Cluster["whole"]) {
    const { recorder } = run
    const cluster = yield* run.cluster
    const state = { key: "", round: 0 }
    const prefix = () => `${run.prefix}${state.key}-${state.round}`
    const { end, outcome, recovered, recoveries, settled } = yield* loaded(run, cluster, PER_SECOND, {
      batch: BATCH,
      prefix
    })
    const copied = { ask: cluster.ask, accounts: cluster.accounts.slice(0, COPIED) }
    const beside = yield* followers(copied, recorder, prefix)
    const done = new Map<string, ReadonlyArray<Round>>()

    const round = Effect.fnUntraced(function*(kind: Failover) {
      const mend = kind.mend ?? (() => Effect.void)
      const present = yield* machinesOf(cluster)
      yield* settled
      const [before, struck] = [beside.counts(), performance.now()]
      if (kind.hold === undefined) {
        yield* cluster.leader(yield* kind.strike(cluster, present))
      } else {
        yield* kind.strike(cluster, present)
        yield* Effect.sleep(kind.hold)
        yield* mend(cluster, present)
      }
      const [led, since] = [beside.counts(), performance.now()]
      const recovery = yield* recovered(since)
      if (kind.hold === undefined) yield* mend(cluster, present)
      yield* settled
      const after = beside.counts()
      const { count, longest } = recorder.writesSince(struck)
      const one: Round = {
        lists: {
          "without a leader": led.lists - before.lists,
          "of these failed": led.unread - before.unread,
          "afterwards": after.lists - led.lists,
          "of those failed": after.unread - led.unread
        },
        writes: count,
        times: {
          "new leader after": since - struck,
          "first write then after": recorder.writesSince(since).first,
          "as many calls as before after": recovery,
          "longest write": longest
        }
      }
      done.set(kind.key, [...done.get(kind.key) ?? [], one])
      const problems = [...recorder.wrong].map(([text, count]) => `; ${text}: ${count}`).join("")
      yield* Console.log(`${figureOf(kind.key, [one])}; ${recorder.replies(struck)}${problems}`)
    })

    const each = { short: kinds.length, full: kinds.length }
    const count = yield* rounds(run, each, (n) => {
      const kind = kinds[n % kinds.length]
      if (kind === undefined) return Effect.void
      Object.assign(state, { key: kind.key, round: n })
      return round(kind)
    })
    const [leader] = yield* cluster.safe
    yield* end
    const deletions = yield* beside.end(leader.url)
    recorder.reportSlowness(
      `as many calls succeeded as before only after more than ${BACK_WITHIN} ms`,
      recoveries.filter((time) => time > BACK_WITHIN).length
    )
    const figures = [...done].map(([key, some]) => figureOf(key, some))
    return { rounds: count, ...yield* outcome(leader.url, [deletions, ...figures]) }
  }
)

const faultOf = (
  key: string,
  title: string,
  kinds: ReadonlyArray<Failover>,
  machinesOf: (cluster: Cluster) => Cluster["whole"]
): Fault => ({ key: `failover-${key}`, title, run: (run) => failover(run, kinds, machinesOf) })

export const failovers: ReadonlyArray<Fault> = [
  faultOf("promotions", "the leader is replaced, killed, frozen", PROMOTIONS, ({ safe }) => safe),
  ...FAILOVERS.map((one) => faultOf(one.key, one.title, [one], ({ whole }) => whole))
]
