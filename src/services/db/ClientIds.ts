import { createHash } from "node:crypto"

/** The first of two calls with the same `clientId` stores. */
export const UNLESS_MADE = "ON CONFLICT (user_id, client_id) WHERE client_id IS NOT NULL DO NOTHING"

/** The version of what was just stored. */
export const FIRST_VERSION = 1

/**
 * The columns of what a client names itself. A repeated call with the same content has the first result, which is made of that
 * content again, so that nothing is stored twice; one with another content has what is there now.
 */
export const clientColumns = (clientId: string | null | undefined, content: object) =>
  clientId === undefined || clientId === null
    ? { clientId: null, clientDigest: null }
    : { clientId, clientDigest: createHash("sha256").update(JSON.stringify(content)).digest("hex") }
