import { Schema } from "effect"

/** `unlisted` is for anyone who has the share token. */
export const Visibility = Schema.Literals(["private", "unlisted", "public"]).annotate({
  description: "Who may open it beside its owner"
})
export type Visibility = typeof Visibility.Type
