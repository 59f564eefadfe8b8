import { Schema } from "effect"
import { type Client, makeClient } from "../../client/src/index.ts"
import { EXIT_CODES, Failure } from "./Failure.ts"
import { ownFile, readText, replaceJson, variable } from "./Files.ts"
import { note } from "./Terminal.ts"

const Logins = Schema.Struct({
  /** Commands without `--url` use this address. */
  current: Schema.optionalKey(Schema.String),
  tokens: Schema.Record(Schema.String, Schema.String)
})

const decodeLogins = Schema.decodeUnknownSync(Schema.fromJsonString(Logins))

const FILE = "logins.json"

export const readLogins = async (): Promise<typeof Logins.Type> => {
  const file = ownFile(FILE)
  const text = await readText(file)
  try {
    return text === undefined ? { tokens: {} } : decodeLogins(text)
  } catch {
    throw Failure.because(`${file}: not a file of logins: remove it, and run rps login again`)
  }
}

export const saveLogin = async (origin: string, token: string): Promise<void> => {
  const { tokens } = await readLogins()
  await replaceJson(ownFile(FILE), { current: origin, tokens: { ...tokens, [origin]: token } })
}

/** Returns the origin, and the path of a service that is below one. */
export const addressOf = (url: string): string => {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw Failure.because(
      `url: "${url}" is not accepted: expected such as https://routes.example.com`,
      EXIT_CODES.usage
    )
  }
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname.replace(/\/$/, "")}`
}

const onWait = (milliseconds: number, reason: string) =>
  note(`${reason}: trying again in ${Math.ceil(milliseconds / 1000)} s`)

/** A command waits for rate limits, and through half a minute without the service, as a person's script would. */
const PATIENT = { retries: 8, retryTimeout: 3_600_000, onWait }

/** A person who signs in sees at once that the address is wrong. */
const IMPATIENT = { retries: 1 }

export const clientAt = (baseUrl: string, token?: string): Client =>
  makeClient({ baseUrl, ...IMPATIENT, ...(token === undefined ? {} : { token }) })

export interface Account {
  /** The address of the service, with its path. */
  readonly origin: string
  readonly client: Client
}

const accountWith = (origin: string, token: string | undefined): Account => {
  if (token === undefined) throw Failure.because(`not signed in: run rps login ${origin} first`, EXIT_CODES.signedOut)
  return { origin, client: makeClient({ baseUrl: origin, token, ...PATIENT }) }
}

/** Returns a name that the files of no other account have, of whichever service. */
export const fileNameOf = (origin: string, userId: number): string => {
  const { host, pathname } = new URL(origin)
  return `${host.replace(":", "-")}${encodeURIComponent(pathname.replace(/\/$/, ""))}-${userId}`
}

/** Returns the account of `--url`, else of `RPS_URL`, else of the last login. `RPS_TOKEN` precedes the saved token. */
export const accountAt = async (url = variable("RPS_URL")): Promise<Account> => {
  const token = variable("RPS_TOKEN")
  if (url !== undefined && token !== undefined) return accountWith(addressOf(url), token)
  const { current, tokens } = await readLogins()
  const given = url ?? current
  if (given === undefined) throw Failure.because("not signed in: run rps login URL first", EXIT_CODES.signedOut)
  const origin = addressOf(given)
  return accountWith(origin, token ?? tokens[origin])
}

/** Returns the account of `--to`. `RPS_TO_TOKEN` precedes the saved token. */
export const targetAt = async (url: string): Promise<Account> => {
  const origin = addressOf(url)
  return accountWith(origin, variable("RPS_TO_TOKEN") ?? (await readLogins()).tokens[origin])
}
