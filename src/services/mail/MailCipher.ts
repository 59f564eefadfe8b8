import { Effect, Redacted, Schema } from "effect"
import { compactDecrypt, CompactEncrypt } from "jose"
import { hkdfSync } from "node:crypto"
import type { Mail } from "./Mailer.ts"

const StoredMail = Schema.fromJsonString(Schema.Struct({
  to: Schema.String,
  subject: Schema.String,
  text: Schema.String,
  link: Schema.optionalKey(Schema.String)
}))

const encodeMail = ({ link, subject, text, to }: Mail) =>
  Schema.encodeSync(StoredMail)({ to, subject, text, ...(link === undefined ? {} : { link: Redacted.value(link) }) })

const decodeMail = (json: string) =>
  Effect.map(
    Schema.decodeEffect(StoredMail)(json),
    ({ link, ...mail }): Mail => ({ ...mail, link: link === undefined ? undefined : Redacted.make(link) })
  )

/** Encrypts mails for the outbox (JWE, A256GCM) under a key that is derived from `JWT_SECRET`: a link is a secret. */
export const mailCipher = (secret: Redacted.Redacted) => {
  const key = new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "outbox", 32))
  return {
    encrypt: (mail: Mail) =>
      Effect.promise(() =>
        new CompactEncrypt(new TextEncoder().encode(encodeMail(mail)))
          .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
          .encrypt(key)
      ),
    decrypt: (payload: string) =>
      Effect.tryPromise(() => compactDecrypt(payload, key)).pipe(
        Effect.flatMap(({ plaintext }) => decodeMail(new TextDecoder().decode(plaintext)))
      )
  }
}
