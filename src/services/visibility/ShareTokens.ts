import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { ShareToken } from "../../schema/Ids.ts"

const BYTES = 16

/** Makes share tokens: 128 random bits in hexadecimal digits. */
export const shareTokens = Effect.map(
  SecureRandom.SecureRandom,
  (random) => Effect.map(random.randomBytes(BYTES), (bytes) => ShareToken.make(Buffer.from(bytes).toString("hex")))
)
