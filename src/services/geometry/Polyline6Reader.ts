import { DEGREES, MAX_POSITIONS } from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { isOnEarth } from "./Coordinates.ts"
import { type MeasuredPolyline, measurePolyline } from "./MeasuredPolyline.ts"
import { decodePolyline, positionCount } from "./PolylineEncoding.ts"

/** Work for a position of a polyline, which has as little as two bytes. */
const POSITION_BYTES = 16

export const BROKEN_POLYLINE6: ValidationIssue = {
  path: "polyline6",
  message:
    `Expected an encoded polyline with six decimals of at most ${MAX_POSITIONS} positions, ${DEGREES.latitude} and `
    + `${DEGREES.longitude} degrees`
}

/** Synchronous: 0.1 s for 100,000 positions. Undefined for an invalid or too long polyline. */
export const measurePolyline6 = (encoded: string): MeasuredPolyline | undefined => {
  if (positionCount(encoded) > MAX_POSITIONS) return undefined
  const coordinates = decodePolyline(encoded)
  if (coordinates === undefined || !isOnEarth(coordinates)) return undefined
  const { lats, lngs } = coordinates
  const textAt = (index: number) => `[${lngs[index] ?? 0},${lats[index] ?? 0}]`
  const texts = Array.from(lngs, (_, index) => textAt(index))
  const start = lngs.length === 0 ? undefined : [lngs[0] ?? 0, lats[0] ?? 0] as const
  return measurePolyline({ coordinates, elevations: undefined, json: `[${texts.join(",")}]`, start, textAt })
}

export const polyline6Bytes = (encoded: string): number => POSITION_BYTES * positionCount(encoded)

/** A short body may have a polyline of many positions. */
export const readPolyline6 = new HeavyJob<string, MeasuredPolyline | undefined>(import.meta.url, {
  name: "read polyline6",
  share: "bodies",
  run: measurePolyline6
})
