import { Schema } from "effect"

export const PageUrl = Schema.optionalKey(
  Schema.String.annotate({
    description:
      "The page for people, of a single response; absent while only the owner may see it, and where pages are off",
    format: "uri"
  })
)
