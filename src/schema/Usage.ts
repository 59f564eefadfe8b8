import { Schema } from "effect"
import { Count } from "./Measures.ts"

export const QUOTAS = ["routes", "storedBytes", "collections"] as const
export type Quota = typeof QUOTAS[number]

const used = (description: string) =>
  Schema.Struct({
    used: Count.annotate({ description: "How many there are" }),
    limit: Count.annotate({ description: "How many there may be" })
  }).annotate({ description })

/** The usage of examples. */
export const USAGE = {
  routes: { used: 2, limit: 10_000 },
  storedBytes: { used: 81_920, limit: 1_073_741_824 },
  collections: { used: 1, limit: 1000 }
}

/** Counts routes in the trash until they are erased. */
export const Usage = Schema.Struct({
  routes: used("Routes, including those in the trash"),
  storedBytes: used(
    "Bytes of the routes' geometry in every stored form, of their waypoints and descriptions, and of the responses kept "
      + "for `Idempotency-Key`"
  ),
  collections: used("Collections, without those in the trash")
}).annotate({ identifier: "Usage", description: "What the account stores and may store.", examples: [USAGE] })
export type Usage = typeof Usage.Type
