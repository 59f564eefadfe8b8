import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { ShareToken } from "../../schema/Ids.ts"

const BYTES = 16

/** Asked for together: a call of the system for each token takes 25 us of a request. */
const TOKENS = 256

/** Makes share tokens: 128 random bits in hexadecimal digits. */
export const shareTokens = Effect.map(SecureRandom.SecureRandom, (random) => {
  const left = { bytes: Buffer.alloc(0) }

  const take = () => {
    const token = left.bytes.toString("hex", 0, BYTES)
    left.bytes = left.bytes.subarray(BYTES)
    return ShareToken.make(token)
  }

  const refill = Effect.map(random.randomBytes(BYTES * TOKENS), (bytes) => {
    left.bytes = Buffer.from(bytes)
  })

  return Effect.suspend(() => left.bytes.length === 0 ? Effect.map(refill, take) : Effect.succeed(take()))
})
