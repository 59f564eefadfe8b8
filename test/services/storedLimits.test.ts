import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { NewCollection } from "../../src/schema/Collection.ts"
import { NewToken, Scope } from "../../src/schema/Credential.ts"
import { ShareToken } from "../../src/schema/Ids.ts"
import { Activity } from "../../src/schema/Preferences.ts"
import { Visibility } from "../../src/schema/Resource.ts"
import { NewRoute, Provenance, Source } from "../../src/schema/Route.ts"
import { NewShareLink } from "../../src/schema/ShareLink.ts"
import { DisplayName, Email, Handle, ProfilePatch } from "../../src/schema/User.ts"
import { clonedDatabase } from "../support/Databases.ts"

type Probe = readonly [decode: (value: unknown) => Option.Option<unknown>, valueOf: (size: number) => unknown]

const letters = (length: number) => "a".repeat(length)

const decode = Schema.decodeUnknownOption

const displayName: Probe = [decode(DisplayName), letters]
const email: Probe = [decode(Email), (length) => `${letters(64)}@${letters(length - 69)}.com`]
const member = <K extends keyof typeof NewRoute.fields>(name: K) => decode(NewRoute.fields[name])

/** A client may send these at most, by the constraint of the column where they are stored. */
const MAXIMA: Readonly<Record<string, Probe>> = {
  users_name_check: displayName,
  users_email_check: email,
  users_avatar_check: [
    decode(ProfilePatch.fields.avatar),
    (length) => `https://a.example/${letters(length - "https://a.example/".length)}`
  ],
  sign_ups_name_check: displayName,
  sign_ups_email_check: email,
  personal_access_tokens_name_check: [decode(NewToken.fields.name), letters],
  routes_name_check: [member("name"), letters],
  routes_description_check: [member("description"), letters],
  routes_start_address_check: [member("startAddress"), letters],
  routes_end_address_check: [member("endAddress"), letters],
  routes_distance_max: [member("distance"), (metres) => metres],
  routes_duration_check: [member("duration"), (seconds) => seconds],
  routes_elevation_gain_check: [member("elevationGain"), (metres) => metres],
  routes_source_external_id_check: [decode(Source.fields.externalId), letters],
  routes_source_url_check: [
    decode(Source.fields.url),
    (length) => `https://a.example/${letters(length - "https://a.example/".length)}`
  ],
  routes_tags_check: [member("tags"), (count) => Array.from({ length: count }, (_, n) => `tag-${n}`)],
  collections_name_check: [decode(NewCollection.fields.name), letters],
  collections_description_check: [decode(NewCollection.fields.description), letters],
  share_links_label_check: [decode(NewShareLink.fields.label), letters]
}

const CHOICES: Readonly<Record<string, { readonly literals: ReadonlyArray<string> }>> = {
  personal_access_tokens_scope_check: Scope,
  routes_activity_check: Activity,
  routes_provenance_check: Provenance,
  routes_visibility_check: Visibility,
  collections_visibility_check: Visibility
}

const token: Probe = [decode(ShareToken), (length) => letters(length)]

/** Patterns end with the greatest length. */
const PATTERNS: Readonly<Record<string, Probe>> = {
  users_handle_check: [decode(Handle), letters],
  routes_share_token_check: token,
  routes_source_provider_check: [decode(Source.fields.provider), letters],
  routes_imported_from_check: token,
  collections_share_token_check: token,
  collections_imported_from_check: token,
  share_links_token_check: token
}

/** No client sends these. */
const INTERNAL = [
  "change_epochs_id_check",
  "changes_type_check",
  "email_tokens_owner_check",
  "email_tokens_purpose_check",
  "oldest_version_id_check",
  "routes_distance_check",
  "routes_published_at",
  "routes_recorded_at_check",
  "share_links_check",
  "sign_ups_email_key_check",
  "sign_ups_network_check",
  "usage_limits_id_check",
  "users_email_key_check"
]

const database = Layer.unwrap(
  Effect.map(
    clonedDatabase,
    (url) => Layer.provide(databaseLive, ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
  )
)

layer(database)("limits of the contract and those of the columns", (it) => {
  it.effect("are the same", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const constraints = new Map(
        (yield* sql<{ name: string; definition: string }>`
          SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
          WHERE contype = 'c' AND connamespace = 'public'::regnamespace`).map(({ definition, name }) =>
          [name, definition] as const
        )
      )
      const compared = [MAXIMA, CHOICES, PATTERNS].flatMap((table) => Object.keys(table))
      assert.deepStrictEqual(
        [...constraints.keys()].toSorted(),
        compared.concat(INTERNAL).toSorted(),
        "MAXIMA has each CHECK of a limit, CHOICES of an enumeration, PATTERNS of a pattern, INTERNAL what no client sends"
      )

      for (const [name, [accept, valueOf]] of Object.entries({ ...MAXIMA, ...PATTERNS })) {
        const maximum = Number(constraints.get(name)?.match(/\d+(?=\D*$)/)?.[0])
        assert.isTrue(Option.isSome(accept(valueOf(maximum))), `${name}: ${maximum} is refused`)
        assert.isTrue(Option.isNone(accept(valueOf(maximum + 1))), `${name}: ${maximum + 1} is accepted`)
      }
      for (const [name, { literals }] of Object.entries(CHOICES)) {
        const choices = [...constraints.get(name)?.matchAll(/'([^']+)'/g) ?? []].map(([, choice]) => choice)
        assert.deepStrictEqual(choices, [...literals], name)
      }
    }))

  it.effect("refuse what no schema has seen, and texts that would break a list", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('a@b.c', 'a@b.c', now(), 'a', 'abc', now(), now())`
      const insert = (visibility: string, distance: number) =>
        sql`
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, distance,
            created_at, updated_at)
          SELECT id, 'x', ${visibility}, '{}', false, '[]', 'generation', repeat('a', 32), ${distance}, now(), now()
          FROM users`
      for (const write of [insert("private", 1e8 + 1), insert("public", 5)]) {
        assert.strictEqual((yield* Effect.flip(write)).reason._tag, "ConstraintError")
      }
      yield* insert("private", 1e8)
      yield* sql`INSERT INTO route_views (route_id, route_version, zones_revision, place_version, is_whole)
        SELECT id, 1, 1, 1, true FROM routes`
      for (const table of ["routes", "route_views"]) {
        for (const column of ["waypoints", "geometry", "simplified", "cues", "segments", "simplified_segments"]) {
          const broken = yield* Effect.flip(sql`UPDATE ${sql(table)} SET ${sql(column)} = '[[9,47]'`)
          assert.include(String(broken.reason.cause), "invalid input syntax for type json", `${table}.${column}`)
          yield* sql`UPDATE ${sql(table)} SET ${sql(column)} = '[9]'`
        }
      }
    }))
})
