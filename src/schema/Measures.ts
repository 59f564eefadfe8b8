import { Schema } from "effect"

export const Metres = Schema.Finite.annotate({ description: "Metres" })
export const Kilometres = Schema.Finite.annotate({ description: "Kilometres" })
export const Seconds = Schema.Finite.annotate({ description: "Seconds" })
