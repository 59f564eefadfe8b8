import { Config, Effect, Redacted, Schema } from "effect"
import { compactDecrypt, CompactEncrypt } from "jose"
import { derivedKey } from "../keys/DerivedKeys.ts"
import type { Mail } from "./Mail.ts"
import { MailRequest } from "./MailRequests.ts"

const StoredMail = Schema.Struct({
  to: Schema.String,
  subject: Schema.String,
  text: Schema.String,
  link: Schema.optionalKey(Schema.String),
  ifNotYou: Schema.optionalKey(Schema.String)
})

const StoredRequest = Schema.Struct({
  request: MailRequest,
  trace: Schema.optionalKey(
    Schema.Struct({ traceId: Schema.String, spanId: Schema.String })
  )
})
export type StoredRequest = typeof StoredRequest.Type

const Payload = Schema.fromJsonString(Schema.Union([StoredRequest, StoredMail]))

export type OutboxPayload = StoredRequest | Mail

const toStored = (payload: OutboxPayload): typeof Payload.Type => {
  if ("request" in payload) return payload
  const { ifNotYou, link, subject, text, to } = payload
  return {
    to,
    subject,
    text,
    ...(link === undefined ? {} : { link: Redacted.value(link) }),
    ...(ifNotYou === undefined ? {} : { ifNotYou })
  }
}

const fromStored = (stored: typeof Payload.Type): OutboxPayload => {
  if ("request" in stored) return stored
  const { link, ...mail } = stored
  return { ...mail, link: link === undefined ? undefined : Redacted.make(link) }
}

const decodePayload = (json: string) => Effect.map(Schema.decodeEffect(Payload)(json), fromStored)

const encodePayload = (payload: OutboxPayload) => Schema.encodeSync(Payload)(toStored(payload))

/** JWE (A256GCM) with a key derived from `JWT_SECRET`: the link in a mail is a secret. */
export const mailCipher = Config.map(derivedKey("outbox"), (key) => ({
  encrypt: (payload: OutboxPayload) =>
    Effect.promise(() =>
      new CompactEncrypt(new TextEncoder().encode(encodePayload(payload)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .encrypt(key)
    ),
  decrypt: (payload: string) =>
    Effect.tryPromise(() => compactDecrypt(payload, key)).pipe(
      Effect.flatMap(({ plaintext }) => decodePayload(new TextDecoder().decode(plaintext)))
    )
}))
