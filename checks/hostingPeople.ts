import { Schema } from "effect"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { SMTPServer } from "smtp-server"

/**
 * People of the machine of checks/hosting.sh: a server that takes their mails ("mails"), the administrator and the first member, who join
 * and save a route ("join"), remove it ("remove"), look for it ("find"), and do what loads modules in a process that SERVER names ("load").
 */

const MAILS = "/check/mails"

const MEMBER = "grace@routes.test"

const PASSWORD = "quiet lanes above the lake"

const [, , step, origin = "", admin = "", link = ""] = process.argv

const SERVER = process.env["SERVER"] ?? origin

const call = async (method: string, path: string, cookie: string, body?: unknown): Promise<Response> => {
  const response = await fetch(`${SERVER}/api/v1${path}`, {
    method,
    headers: { "content-type": "application/json", cookie, origin },
    ...body === undefined ? {} : { body: JSON.stringify(body) }
  })
  // An address has few sign-ins a minute.
  if (response.status === 429) {
    await setTimeout(Number(response.headers.get("retry-after")) * 1000)
    return call(method, path, cookie, body)
  }
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response
}

const signIn = async (email: string) => {
  const { headers } = await call("POST", "/auth/login-email", "", { email, password: PASSWORD })
  return headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
}

const choosePassword = (token: string | null | undefined) =>
  call("POST", "/auth/reset-password", "", { token, password: PASSWORD })

const mailedToken = async (): Promise<string> => {
  // Quoted-printable breaks lines by "=", and writes it as "=3D".
  const mails = existsSync(MAILS) ? readFileSync(MAILS, "utf8").replaceAll(/=\r?\n/g, "").replaceAll("=3D", "=") : ""
  const token = /\/invitation\?token=([\w-]+)/.exec(mails)?.[1]
  if (token !== undefined) return token
  await setTimeout(200)
  return mailedToken()
}

const Route = Schema.Struct({ id: Schema.Int, name: Schema.String })

const Routes = Schema.Array(Route)

const routesOf = async (cookie: string) =>
  Schema.decodeUnknownSync(Routes)(await (await call("GET", "/routes", cookie)).json())

const join = async () => {
  await choosePassword(new URL(link).searchParams.get("token"))
  await call("POST", "/admin/invitations", await signIn(admin), { email: MEMBER })
  await choosePassword(await mailedToken())
  const route = {
    name: "Around Vaduz",
    activity: "cycle",
    waypoints: [{ coord: [9.5209, 47.1415], type: "routed" }],
    geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144, 461]]
  }
  await call("POST", "/routes", await signIn(MEMBER), route)
  console.log(`${admin} invited ${MEMBER} by mail, who saved a route`)
}

const remove = async () => {
  const cookie = await signIn(MEMBER)
  for (const { id } of await routesOf(cookie)) await call("DELETE", `/routes/${id}`, cookie)
}

const find = async () => {
  const names = (await routesOf(await signIn(MEMBER))).map(({ name }) => name)
  if (names.join() !== "Around Vaduz") throw new Error(`found ${names.join()}`)
}

/** A long body is read in a thread, which this starts; an export loads the library of archives. */
const load = async () => {
  const cookie = await signIn(MEMBER)
  const geometry = Array.from({ length: 5000 }, (_, index) => [9.5 + index / 1e5, 47.1 + index % 7 / 1e5, 450])
  const route = { name: "Long", activity: "cycle", waypoints: [{ coord: [9.5, 47.1], type: "routed" }], geometry }
  const { id } = Schema.decodeUnknownSync(Route)(await (await call("POST", "/routes", cookie, route)).json())
  await call("DELETE", `/routes/${id}`, cookie)
  const archive = await (await call("GET", "/users/me/export", cookie)).bytes()
  // The directory of an archive is at its end.
  if (!Buffer.from(archive).includes("PK\x05\x06")) throw new Error("the export is incomplete")
}

const takeMails = () => {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, done) => {
      stream.on("data", (chunk: Buffer) => appendFileSync(MAILS, chunk)).on("end", () => done())
    }
  })
  server.listen(2525, "127.0.0.1")
}

const steps: Readonly<Record<string, () => unknown>> = { join, remove, find, load, mails: takeMails }

await steps[step ?? ""]?.()
