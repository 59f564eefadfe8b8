import { MAX_LONGITUDE } from "../../../schema/Geometry.ts"
import { childOf, textOf } from "./XmlQuery.ts"
import type { XmlElement } from "./XmlTree.ts"

/**
 * GPX 1.1 and TCX end their longitudes short of 180 (`maxExclusive`). That meridian is written as -180, which is the same
 * line, with the number itself in an extension of ours: so a file is valid, and what was stored comes back.
 */
const EDGE = MAX_LONGITUDE
export const OWN_LONGITUDE = "rps:longitude"

/** A longitude as both schemas accept it. */
export const withinEdge = (lng: number): number => lng === EDGE ? -EDGE : lng

/** The extension that goes with it, if it needs one. */
export const edgeMark = (lng: number): { readonly [OWN_LONGITUDE]?: string } =>
  lng === EDGE ? { [OWN_LONGITUDE]: String(EDGE) } : {}

/** The longitude that was meant; `extensions` is the name of that element in the format at hand. */
export const beyondEdge = (lng: number | undefined, point: XmlElement, extensions: string): number | undefined =>
  lng === -EDGE && textOf(childOf(point, extensions), OWN_LONGITUDE) === String(EDGE) ? EDGE : lng
