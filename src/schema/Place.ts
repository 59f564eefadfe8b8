import { Schema } from "effect"

/** Of the start of a route. The country is ISO 3166-1 alpha-2. */
export const Place = Schema.Struct({
  placeCity: Schema.optionalKey(Schema.String),
  placeRegion: Schema.optionalKey(Schema.String),
  placeCountryCode: Schema.optionalKey(Schema.String)
})
export type Place = typeof Place.Type
