import { FitBaseType, type FitEncoderField } from "fit-file-parser/encoder"

export const uint32 = (number: number, value: number): FitEncoderField => ({
  number,
  size: 4,
  baseType: FitBaseType.Uint32,
  value
})

export const byte = (number: number, value: number): FitEncoderField => ({
  number,
  size: 1,
  baseType: FitBaseType.Enum,
  value
})

/** Returns degrees in semicircles, the unit of FIT. */
export const degrees = (number: number, value: number): FitEncoderField => ({
  number,
  size: 4,
  baseType: FitBaseType.Sint32,
  value: Math.round(value * 2 ** 31 / 180)
})

/** An instant of FIT is in seconds. */
export const START = 1_000_000_000
