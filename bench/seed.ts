import { argon2id, hash } from "argon2"
import { Effect, Schema } from "effect"
import { Client } from "pg"
import { PASSWORD } from "./session.ts"

const route = (positions: number) =>
  JSON.stringify(Array.from({ length: positions }, (_, n) => [
    Number((9 + n / 10_000).toFixed(6)),
    Number((47 + Math.sin(n / 100) / 10).toFixed(6)),
    Number((450 + 100 * Math.cos(n / 300)).toFixed(1))
  ]))

/** One account with a public route of 5,000 positions, whose id it gives, and one without a password. */
export const seed = (url: string) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(
      `INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
       VALUES ('bench@example.com', 'bench@example.com', now(), 'Bench', 'bench', now(), now()),
         ('provider-only@example.com', 'provider-only@example.com', now(), 'Provider', 'provider', now(), now())`
    )
    const salt = Buffer.alloc(16, "salt")
    const digest = await hash(PASSWORD, {
      type: argon2id,
      memoryCost: 19_456,
      timeCost: 2,
      parallelism: 1,
      salt
    })
    await client.query(`UPDATE users SET password_hash = $1 WHERE handle = 'bench'`, [digest])
    const { rows } = await client.query(
      `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
         published_at, created_at, updated_at)
       SELECT id, 'Five thousand positions', 'public', '{}', false, '[{"coord":[9,47]}]', $1, 'routing-engine',
         repeat('a', 32), now(), now(), now() FROM users WHERE handle = 'bench' RETURNING id`,
      [route(5000)]
    )
    await client.end()
    return Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ id: Schema.NumberFromString })))(rows)[0]?.id
  })
