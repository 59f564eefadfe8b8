import { Schema } from "effect"

export const PlaceCity = Schema.String.annotate({ description: "The city that the route starts in or near" })

export const PlaceCountryCode = Schema.String.annotate({
  description: "The country that the route starts in (ISO 3166-1 alpha-2)"
})

/** Where a route starts. */
export const Place = Schema.Struct({
  placeCity: Schema.optionalKey(PlaceCity),
  placeRegion: Schema.optionalKey(
    Schema.String.annotate({ description: "The first-level region that the route starts in" })
  ),
  placeCountryCode: Schema.optionalKey(PlaceCountryCode)
})
export type Place = typeof Place.Type
