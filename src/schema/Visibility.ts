import { Schema } from "effect"

/** `unlisted` is for anyone who has the share token. */
export const Visibility = Schema.Literals(["private", "unlisted", "public"])
export type Visibility = typeof Visibility.Type
