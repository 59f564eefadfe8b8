import { Context, Effect, Exit, Option, References, Request, RequestResolver, Schema } from "effect"
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

/** Bounds what one statement reads, and how long a short row waits for the others. */
const MAX_KEYS = 16

/** The driver takes the type of an array from its elements, and those of numbers differ by their size. */
const elementOf = (value: ValueOf[keyof ValueOf]) => typeof value === "number" ? BigInt(value) : value

// Several rows may be asked for again, one by one, where one of them cannot be read, but not where none can.
const mayBeOfOneRow = (error: unknown) => !SqlError.isSqlError(error) || !error.isRetryable

/**
 * Reads rows by keys, at most one by each, from `select`, which names the parts of a key as columns of `k`. Reads that
 * begin in the same iteration of the event loop are one statement, which begins after all of them (decision 0017). A
 * read is a statement of its own in a transaction, and where its caller is traced.
 */
export const gatheredRead = <const T extends Types, S extends Schema.ConstraintDecoder<unknown>>(
  sql: SqlClient.SqlClient,
  { Result, key: types, select }: {
    /** Names in lower case. */
    readonly key: T
    readonly select: Statement.Fragment
    readonly Result: S
  }
) => {
  type Key = KeyOf<T>
  class Read extends Request.Class<{ readonly key: Key }, Option.Option<unknown>, SqlError.SqlError> {}

  const decode = Schema.decodeUnknownEffect(Result)
  const names: ReadonlyArray<keyof T & string> = Object.keys(types)
  const casts = names.map((name) => sql.literal(`::${types[name]}[])`))
  const keys = sql.literal(`) WITH ORDINALITY k(${names.join(", ")}, place)`)
  const listed = Statement.join(", ", false)

  // A subquery hides the number of keys from the planner, so that it plans once.
  const readAll = (wanted: ReadonlyArray<Key>) =>
    sql<Placed>`
      SELECT found.*, k.place::int FROM unnest(${
      listed(names.map((name, n) => sql`(SELECT ${wanted.map((key) => elementOf(key[name]))}${casts[n]}`))
    }${keys} CROSS JOIN LATERAL (${select} LIMIT 1) found`

  const readOne = (key: Key) => Effect.map(readAll([key]), (rows) => Option.fromUndefinedOr(rows[0]))

  const readEach = (entries: ReadonlyArray<Request.Entry<Read>>) =>
    Effect.forEach(entries, (entry) => Request.completeEffect(entry, readOne(entry.request.key)), {
      concurrency: "unbounded",
      discard: true
    })

  const complete = (entries: ReadonlyArray<Request.Entry<Read>>, rows: ReadonlyArray<Placed>) => {
    const found = new Map(rows.map((row) => [row.place, row]))
    entries.forEach((entry, n) => entry.completeUnsafe(Exit.succeed(Option.fromUndefinedOr(found.get(n + 1)))))
  }

  const resolver = RequestResolver.make<Read>((entries) =>
    Effect.map(readAll(entries.map(({ request }) => request.key)), (rows) => complete(entries, rows)).pipe(
      Effect.catchIf((error) => entries.length > 1 && mayBeOfOneRow(error), () => readEach(entries))
    )
  ).pipe(RequestResolver.batchN(MAX_KEYS))

  const isAlone = (context: Context.Context<never>) =>
    Option.isSome(Context.getOption(context, sql.transactionService)) || Context.get(context, References.TracerEnabled)

  return (key: Key): Effect.Effect<Option.Option<S["Type"]>, SqlError.SqlError | Schema.SchemaError> =>
    Effect.contextWith((context: Context.Context<never>) =>
      isAlone(context) ? readOne(key) : Effect.request(new Read({ key }), resolver)
    ).pipe(
      Effect.flatMap((row) => Option.isSome(row) ? Effect.asSome(decode(row.value)) : Effect.succeedNone)
    )
}
