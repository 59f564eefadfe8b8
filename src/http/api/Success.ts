import { Schema } from "effect"

export const success = { success: true } as const

export const Success = Schema.Struct({
  success: Schema.Literal(true).annotate({ description: "Always `true`" })
}).annotate({
  identifier: "Acknowledgement",
  description: "The request is done.",
  examples: [success]
})
