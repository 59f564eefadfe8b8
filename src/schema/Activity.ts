import { Schema } from "effect"

export const Activity = Schema.Literals(["run", "cycle", "walk"]).annotate({ description: "By which activity" })
export type Activity = typeof Activity.Type
