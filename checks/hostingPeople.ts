import { Schema } from "effect"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { SMTPServer } from "smtp-server"

/**
 * People of the machine of checks/hosting.sh: a server that takes their mails ("mails"), the administrator and the first member, who join
 * and save a route ("join"), remove it ("remove") and look for it ("find").
 */

const MAILS = "/check/mails"

const MEMBER = "grace@routes.test"

const PASSWORD = "quiet lanes above the lake"

const [, , step, origin = "", admin = "", link = ""] = process.argv

const call = async (method: string, path: string, cookie: string, body?: unknown) => {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { "content-type": "application/json", cookie, origin },
    ...body === undefined ? {} : { body: JSON.stringify(body) }
  })
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

const Routes = Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String }))

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

const steps: Readonly<Record<string, () => unknown>> = { join, remove, find, mails: takeMails }

await steps[step ?? ""]?.()
