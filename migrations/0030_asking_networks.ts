import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Sign-ups of a version that did not keep it have none, and count as from another network than any.
  yield* sql`ALTER TABLE sign_ups ADD COLUMN network text CHECK (char_length(network) <= 45)`

  // Which network asked for each mail in sent_at, as a keyed digest. A process of the version before writes sent_at only: until its mails
  // are a day old, some are counted for another network.
  yield* sql`ALTER TABLE mail_quotas ADD COLUMN sent_from text[] NOT NULL DEFAULT '{}'`
})
