import { Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

const Secrets = Schema.Struct({
  JWT_SECRET: Schema.NonEmptyString,
  ANALYTICS_SALT: Schema.NonEmptyString,
  PAT_PEPPER: Schema.NonEmptyString
})

class DataDirectoryUnusable extends Schema.TaggedError<DataDirectoryUnusable>()("DataDirectoryUnusable", {
  message: Schema.String
}) {}

const unusable = (directory: string) => (cause: unknown) =>
  new DataDirectoryUnusable({
    message: `DATA_DIR ${directory} cannot be written (${
      cause instanceof Error ? cause.message : String(cause)
    }): make it writable, or set DATA_DIR to another directory`
  })

/** The error leaves out its cause, whose message would contain the secrets. */
class SecretsUnreadable extends Schema.TaggedError<SecretsUnreadable>()("SecretsUnreadable", {
  message: Schema.String
}) {}

const unreadable = (path: string) =>
  new SecretsUnreadable({
    message: `${path} is not a file of secrets: delete it to generate new ones`
  })

const SecretsFile = Schema.fromJsonString(Secrets)

export const generatedSecrets = Effect.fn("generatedSecrets")(function*(directory: string) {
  const random = yield* SecureRandom.SecureRandom
  const path = join(directory, "secrets.json")
  const kept = yield* Effect.option(Effect.tryPromise(() => readFile(path, "utf8")))
  if (Option.isSome(kept)) {
    return yield* Effect.mapError(Schema.decodeEffect(SecretsFile)(kept.value), () => unreadable(path))
  }
  const secret = Effect.map(random.randomBytes(32), (bytes) => Buffer.from(bytes).toString("base64url"))
  const secrets = yield* Effect.all({ JWT_SECRET: secret, ANALYTICS_SALT: secret, PAT_PEPPER: secret })
  const text = yield* Schema.encodeEffect(SecretsFile)(secrets)
  yield* Effect.tryPromise({
    try: async () => {
      await mkdir(directory, { recursive: true })
      await writeFile(path, text, { mode: 0o600 })
      await chmod(path, 0o600)
    },
    catch: unusable(directory)
  })
  return secrets
})
