import { Config, Redacted } from "effect"
import { hkdfSync } from "node:crypto"
import { settings } from "../settings/Registry.ts"

/** HKDF (RFC 5869): no two purposes share a key. */
export const derivedKey = (purpose: string): Config.Config<Uint8Array<ArrayBuffer>> =>
  Config.map(
    settings.JWT_SECRET,
    (secret) => new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", purpose, 32))
  )
