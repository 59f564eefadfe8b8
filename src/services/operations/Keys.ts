import { Config, Option, Redacted, Schema } from "effect"
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto"
import { settings } from "./SettingsRegistry.ts"

/** Derives a key by HKDF (RFC 5869), one for each purpose. Node would import bytes again for each HMAC, at 20 us. */
export const derivedKey = (purpose: string): Config.Config<KeyObject> =>
  Config.map(
    settings.JWT_SECRET,
    (secret) => createSecretKey(new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", purpose, 32)))
  )

/** Copies a text that outlives its request: V8 keeps the whole header or body that it is a part of. */
export const ownText = (text: string): string => Buffer.from(text).toString()

const MAC_BYTES = 16

interface SignedCursors<A> {
  /** `binding` names what the cursor belongs to, such as a user and a list; it is not part of the text. */
  readonly seal: (binding: string, value: A) => string
  /** Returns none for a text of another binding, key or version. The caller bounds its length. */
  readonly open: (binding: string, text: string) => Option.Option<A>
  /** Reads a text that anyone may have written. */
  readonly unproven: (text: string) => Option.Option<A>
  /** Names the key, and does not tell it. */
  readonly keyId: string
}

const KEY_ID_LENGTH = 6

const partsOf = (sealed: string) => {
  const bytes = Buffer.from(sealed, "base64url")
  return bytes.length <= MAC_BYTES || bytes.toString("base64url") !== sealed
    ? undefined
    : { mac: bytes.subarray(0, MAC_BYTES), text: bytes.subarray(MAC_BYTES).toString() }
}

/** Signs opaque positions in a list with their own key. A new `purpose`, which has the version, voids old ones. */
export const signedCursors = <A, I>(purpose: string, schema: Schema.Codec<A, I>): Config.Config<SignedCursors<A>> =>
  Config.map(derivedKey(purpose), (key) => {
    const json = Schema.fromJsonString(schema)
    const encode = Schema.encodeSync(json)
    const decode = Schema.decodeUnknownOption(json)
    const macOf = (binding: string, text: string) =>
      createHmac("sha256", key).update(JSON.stringify([binding, text])).digest().subarray(0, MAC_BYTES)

    return {
      keyId: createHmac("sha256", key).update("id").digest("base64url").slice(0, KEY_ID_LENGTH),
      seal: (binding, value) => {
        const text = encode(value)
        return Buffer.concat([macOf(binding, text), Buffer.from(text)]).toString("base64url")
      },
      open: (binding, sealed) => {
        const parts = partsOf(sealed)
        return parts !== undefined && timingSafeEqual(parts.mac, macOf(binding, parts.text))
          ? decode(parts.text)
          : Option.none()
      },
      unproven: (sealed) => decode(partsOf(sealed)?.text)
    }
  })
