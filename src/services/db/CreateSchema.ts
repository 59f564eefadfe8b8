import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readFile } from "node:fs/promises"

/** The files are in the order in which they refer to each other. */
const SUBJECTS = ["accounts", "mail", "routes", "collections", "sharing", "words", "changes", "usage", "versions"]

const DIRECTORY = new URL("./schema/", import.meta.url)

/** Builds the tables, functions and triggers as they are now, `schema/*.sql`, in an empty database. */
export const createSchema = SqlClient.SqlClient.use((sql) =>
  Effect.forEach(
    SUBJECTS,
    (subject) =>
      Effect.promise(() => readFile(new URL(`${subject}.sql`, DIRECTORY), "utf8")).pipe(
        // The driver sends one statement at a time.
        Effect.flatMap((statements) => sql.unsafe(`DO $schema$ BEGIN ${statements} END $schema$`))
      ),
    { discard: true }
  )
)
