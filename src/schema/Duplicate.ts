import { Schema } from "effect"
import { RouteId } from "./Ids.ts"

export const Duplicate = Schema.Struct({
  index: Schema.Int.annotate({ description: "Which of the routes of the file: 0 for the first" }),
  routeId: RouteId.annotate({ description: "The own route that has the same positions" })
})
export type Duplicate = typeof Duplicate.Type
