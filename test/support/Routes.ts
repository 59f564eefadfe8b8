import { Schema } from "effect"

/** Returns the body of a new route: the least that the contract requires, and the members that the test is about. */
export const newRoute = (members: Readonly<Record<string, unknown>>) => ({
  name: "A ride",
  waypoints: [{ coord: [9.5, 47.1] }],
  ...members
})

/** Decodes a route of a response. */
export const created = Schema.decodeUnknownSync(
  Schema.StructWithRest(Schema.Struct({ id: Schema.Int, shareToken: Schema.String }), [
    Schema.Record(Schema.String, Schema.Json)
  ])
)

export const idOf = (body: unknown) => created(body).id

export const shareTokenOf = (body: unknown) => created(body).shareToken

export const issuePaths = (body: unknown) =>
  Schema.decodeUnknownSync(
    Schema.Struct({ details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String })) }) })
  )(body).details.issues.map(({ path }) => path)

export const idsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ id: Schema.Int })))(body).map(({ id }) => id)
