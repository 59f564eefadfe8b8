import { Schema } from "effect"

export const Activity = Schema.Literals(["run", "cycle", "walk"])
export type Activity = typeof Activity.Type
