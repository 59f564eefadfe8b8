import { Schema } from "effect"

export const Metres = Schema.Finite.annotate({ description: "Metres" })
export const Kilometres = Schema.Finite.annotate({ description: "Kilometres" })
export const Seconds = Schema.Finite.annotate({ description: "Seconds" })

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const upTo = (maximum: number) => Schema.isBetween({ minimum: 0, maximum })

/** More than 2,500 times around the Earth. Longer measured distances are cut to it. */
export const MAX_DISTANCE = 100_000_000

export const MAX_DURATION = 100_000_000
