import { Schema } from "effect"
import { Count } from "./Measures.ts"

export const QUOTAS = ["routes", "storedBytes", "collections"] as const
export type Quota = typeof QUOTAS[number]

const used = (description: string) => Schema.Struct({ used: Count, limit: Count }).annotate({ description })

/** Counts routes in the trash until they are erased. */
export const Usage = Schema.Struct({
  routes: used("Routes, including those in the trash"),
  storedBytes: used(
    "Bytes of the routes' geometry in every stored form, of their waypoints and descriptions, and of the responses kept "
      + "for `Idempotency-Key`"
  ),
  collections: used("Collections, without those in the trash")
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
