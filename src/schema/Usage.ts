import { Schema } from "effect"

/** What an account has only so much of. */
export const QUOTAS = ["routes", "storedBytes", "collections"] as const
export type Quota = typeof QUOTAS[number]

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const used = (description: string) => Schema.Struct({ used: Count, limit: Count }).annotate({ description })

/** What an account stores and may store. What is in the trash counts until it is purged. */
export const Usage = Schema.Struct({
  routes: used("Routes, those in the trash among them"),
  storedBytes: used(
    "Bytes of the routes' geometry in every stored form, of their waypoints and descriptions, and of the responses kept "
      + "for `Idempotency-Key`"
  ),
  collections: used("Collections, deleted ones among them until they are purged")
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
