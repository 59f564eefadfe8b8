import { Schema } from "effect"

export const Success = Schema.Struct({ success: Schema.Literal(true) }).annotate({ identifier: "Success" })

export const success = { success: true } as const
