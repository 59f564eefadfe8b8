import { MAX_LONGITUDE } from "../../../schema/Geometry.ts"
import { childOf, textOf } from "./XmlQuery.ts"
import type { XmlElement } from "./XmlTree.ts"

/**
 * GPX 1.1 and TCX exclude longitude 180 (`maxExclusive`): it is written as -180, the same meridian, with an extension,
 * so that the file is valid and the stored number comes back.
 */
const EDGE = MAX_LONGITUDE
export const OWN_LONGITUDE = "rps:longitude"

export const withinEdge = (lng: number): number => lng === EDGE ? -EDGE : lng

export const edgeMark = (lng: number): { readonly [OWN_LONGITUDE]?: string } =>
  lng === EDGE ? { [OWN_LONGITUDE]: String(EDGE) } : {}

export const beyondEdge = (lng: number | undefined, point: XmlElement, extensions: string): number | undefined =>
  lng === -EDGE && textOf(childOf(point, extensions), OWN_LONGITUDE) === String(EDGE) ? EDGE : lng
