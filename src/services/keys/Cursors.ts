import { Config, Option, Schema } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import { Position } from "../../schema/Page.ts"
import { derivedKey } from "./DerivedKeys.ts"

/** Changes with what a position means in any list. */
const VERSION = 1

const SIGNATURE_BYTES = 16

const decodePosition = Schema.decodeUnknownOption(Schema.fromJsonString(Position))

/** Positions as opaque texts, each signed for one list: its path, filters, sort and caller. */
export const cursors = Config.map(derivedKey("cursors"), (key) => {
  const signed = (list: string, position: Uint8Array) =>
    createHmac("sha256", key).update(JSON.stringify([VERSION, list])).update(position).digest().subarray(
      0,
      SIGNATURE_BYTES
    )

  return {
    seal: (list: string, position: Position): string => {
      const text = Buffer.from(JSON.stringify(position))
      return Buffer.concat([Uint8Array.of(VERSION), signed(list, text), text]).toString("base64url")
    },

    /** None for a cursor of another version or list, or one that the service did not make. */
    open: (list: string, cursor: string): Option.Option<Position> => {
      const bytes = Buffer.from(cursor, "base64url")
      const text = bytes.subarray(1 + SIGNATURE_BYTES)
      const signature = bytes.subarray(1, 1 + SIGNATURE_BYTES)
      const isOurs = bytes[0] === VERSION && signature.length === SIGNATURE_BYTES
        && timingSafeEqual(signature, signed(list, text))
      return isOurs ? decodePosition(text.toString()) : Option.none()
    }
  }
})
