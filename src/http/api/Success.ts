import { Schema } from "effect"
import { named } from "../../schema/Named.ts"

export const success = { success: true } as const

export const Success = Schema.Struct({
  success: Schema.Literal(true).annotate({ description: "Always `true`" })
}).annotate(named("Acknowledgement", "The request is done.", success))
