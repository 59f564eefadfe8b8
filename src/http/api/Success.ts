import { Schema } from "effect"

/** The answer of a call that has nothing to return. */
export const Success = Schema.Struct({ success: Schema.Literal(true) }).annotate({ identifier: "Success" })

export const success = { success: true } as const
