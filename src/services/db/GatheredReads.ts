import { Cause, Context, Effect, Option, References, Schema } from "effect"
import { type SqlClient, SqlError, Statement } from "effect/sql"

interface ValueOf {
  readonly text: string
  readonly uuid: string
  readonly bigint: number
  readonly timestamptz: Date
}

type Types = Readonly<Record<string, keyof ValueOf>>

type KeyOf<T extends Types> = { readonly [K in keyof T]: ValueOf[T[K]] }

interface Placed {
  readonly place: number
}

type Row = Option.Option<Placed>

interface Read<Key> {
  readonly key: Key
  readonly resume: (row: Effect.Effect<Row, SqlError.SqlError>) => void
}

/** The limit bounds what one statement reads, and how long a short row waits for the others. */
const MAX_KEYS = 16

/** The driver takes the type of an array from its elements, and those of numbers differ by their size. */
const elementOf = (value: ValueOf[keyof ValueOf]) => typeof value === "number" ? BigInt(value) : value

// If one of several rows cannot be read, each is read by itself; if the database is at fault, none is.
const mayBeOfOneRow = (error: unknown) => !SqlError.isSqlError(error) || !error.isRetryable

const forkUntraced = (context: Context.Context<never>) =>
  Effect.runForkWith(Context.add(context, References.TracerEnabled, false))

/** Gathers reads without Effect's `RequestResolver`, whose sets of requests outlive them (decision 0018). */
const gatherer = <Key>(readTogether: (reads: ReadonlyArray<Read<Key>>) => Effect.Effect<void>) => {
  let waiting: Array<Read<Key>> = []

  const readWaiting = Effect.suspend(() => {
    const reads = waiting
    waiting = []
    return reads.length === 0 ? Effect.void : readTogether(reads)
  })
  const readAfterIteration = Effect.andThen(Effect.yieldNow, readWaiting)

  return (key: Key, context: Context.Context<never>) =>
    Effect.callback<Row, SqlError.SqlError>((resume) => {
      const read = { key, resume }
      waiting.push(read)
      if (waiting.length === 1) forkUntraced(context)(readAfterIteration)
      else if (waiting.length === MAX_KEYS) forkUntraced(context)(readWaiting)
      return Effect.sync(() => {
        waiting = waiting.filter((each) => each !== read)
      })
    })
}

/** Each gathered read has a span. Their statement has none, since it belongs to several traces. */
const inSpan = (text: string) => <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.useSpan("sql.execute", {
    kind: "client",
    attributes: { "db.system.name": "postgresql", "db.query.text": text }
  }, () => read)

/**
 * Reads rows by keys, at most one for each key, from `select`, which names the parts of a key as columns of `k`. Reads
 * that begin in the same iteration of the event loop are one statement, which begins after all of them (decision 0017).
 * A read in a transaction is a statement of its own.
 */
export const gatheredRead = <const T extends Types, S extends Schema.ConstraintDecoder<unknown>>(
  sql: SqlClient.SqlClient,
  { Result, key: types, select }: {
    /** The names are in lower case. */
    readonly key: T
    readonly select: Statement.Fragment
    readonly Result: S
  }
) => {
  type Key = KeyOf<T>
  const decode = Schema.decodeUnknownEffect(Result)
  const names: ReadonlyArray<keyof T & string> = Object.keys(types)
  const keys = sql.literal(`) WITH ORDINALITY k(${names.join(", ")}, place)`)
  const listed = Statement.join(", ", false)

  // A subquery hides the number of keys from the planner, so that it plans once.
  const [text, own] = sql`
    SELECT found.*, k.place::int FROM unnest(${
    listed(names.map((name) => sql`(SELECT ${[]}${sql.literal(`::${types[name]}[])`)}`))
  }${keys} CROSS JOIN LATERAL (${select} LIMIT 1) found`.compile()
  const others = own.slice(names.length)

  const readAll = (wanted: ReadonlyArray<Key>) =>
    sql.unsafe<Placed>(text, [...names.map((name) => wanted.map((key) => elementOf(key[name]))), ...others])

  const readOne = (key: Key): Effect.Effect<Row, SqlError.SqlError> =>
    Effect.map(readAll([key]), (rows) => Option.fromUndefinedOr(rows[0]))

  const gathered = gatherer<Key>((reads) =>
    Effect.map(readAll(reads.map(({ key }) => key)), (rows) => {
      const found = new Map(rows.map((row) => [row.place, row]))
      reads.forEach(({ resume }, n) => resume(Effect.succeed(Option.fromUndefinedOr(found.get(n + 1)))))
    }).pipe(
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          const isOfOne = reads.length > 1 && mayBeOfOneRow(Cause.squash(cause))
          for (const { key, resume } of reads) resume(isOfOne ? readOne(key) : Effect.failCause(cause))
        })
      )
    )
  )

  const spanned = inSpan(text)
  const isInTransaction = (context: Context.Context<never>) =>
    Option.isSome(Context.getOption(context, sql.transactionService))

  return (key: Key): Effect.Effect<Option.Option<S["Type"]>, SqlError.SqlError | Schema.SchemaError> =>
    Effect.contextWith((context: Context.Context<never>) => {
      if (isInTransaction(context)) return readOne(key)
      const read = gathered(key, context)
      return Context.get(context, References.TracerEnabled) ? spanned(read) : read
    })
      .pipe(
        Effect.flatMap((row) => Option.isSome(row) ? Effect.asSome(decode(row.value)) : Effect.succeedNone)
      )
}
