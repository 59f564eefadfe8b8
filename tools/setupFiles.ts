import { Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { lstatSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { parseEnv } from "node:util"

export interface Answers {
  readonly address: URL
  readonly admin: string
  readonly mail: string
  readonly database: string
  readonly signUp: "closed" | "open"
  readonly processes: number
  readonly days: number
}

/** The user of the processes, the role in PostgreSQL and the database have the same name. */
const NAME = "route-planning-service"

/** PostgreSQL knows the user by the socket, so there is no password (peer authentication). */
export const LOCAL_DATABASE = `postgres://${NAME}@%2Frun%2Fpostgresql/${NAME}`

const FIRST_PORT = 3000

const portsOf = ({ processes }: Answers) => Array.from({ length: processes }, (_, index) => FIRST_PORT + index)

type Values = Readonly<Record<string, string>>

export interface NewSettings {
  /** These values replace existing ones. */
  readonly answers: Values
  /** These values are written into a new or half-written file only: the operator of another one has decided. */
  readonly defaults: Values
  /** These values are made once and kept. */
  readonly secrets: Values
}

export const settingsOf = Effect.fnUntraced(function*(given: Answers) {
  const { address, admin, database, days, mail, processes, signUp } = given
  const random = yield* SecureRandom.SecureRandom
  const secret = Effect.map(random.randomBytes(32), (bytes) => Buffer.from(bytes).toString("base64url"))
  const settings: NewSettings = {
    answers: {
      BASE_URL: address.origin,
      ADMIN_EMAILS: admin,
      SMTP_URL: mail === "none" ? "" : mail,
      DATABASE_URL: database,
      SIGNUP_ENABLED: String(signUp === "open"),
      // The next run reads these settings; the service reads neither.
      SETUP_PROCESSES: String(processes),
      SETUP_KEEP_DAYS: String(days)
    },
    defaults: {
      PROVIDER_SIGN_IN_ENABLED: "false",
      PASSWORD_MIN_STRENGTH: "2",
      TRUSTED_PROXIES: "127.0.0.1/32,::1/128",
      METRICS_ALLOWED_CIDRS: "127.0.0.1/32,::1/128",
      ...processes > 1 ? { REDIS_URL: "redis://127.0.0.1:6379" } : {}
    },
    secrets: yield* Effect.all({ JWT_SECRET: secret, ANALYTICS_SALT: secret, PAT_PEPPER: secret })
  }
  return settings
})

const HEAD =
  `# Written by "npm run setup". docs/operations.md has all settings; a restart applies a change. Keep a copy apart from the
# backups: the three secrets at the end are in none of them.
`

const lineOf = ([name, value]: readonly [string, string]) => `${name}=${value}\n`

const withValue = (text: string, [name, value]: readonly [string, string]) => {
  // Node.js reads the last one of several lines.
  const line = new RegExp(`^${name}=.*\n?(?![^]*^${name}=)`, "m")
  if (line.test(text)) return text.replace(line, () => lineOf([name, value]))
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${lineOf([name, value])}`
}

/** Both URLs may have a password. */
const isSecret = (name: string) => name === "SMTP_URL" || name === "DATABASE_URL"

const shown = (name: string, before: string | undefined, after: string) => {
  if (before === undefined) return `adds ${name}\n`
  return isSecret(name) ? `changes ${name}\n` : `changes ${name} from "${before}" to "${after}"\n`
}

/** Returns the text of `.env`, which of its settings change, and the values that are written. */
export const envFile = (kept: Option.Option<string>, { answers, defaults, secrets }: NewSettings) => {
  if (Option.isNone(kept)) {
    const written = { ...answers, ...defaults, ...secrets }
    return { text: HEAD + Object.entries(written).map(lineOf).join(""), change: "", written }
  }
  const present = parseEnv(kept.value)
  const isMissing = (name: string) => (present[name] ?? "") === ""
  const isHalfWritten = Object.keys(secrets).some(isMissing)
  // One process became several, which count rate limits together.
  const added = Object.entries(defaults).filter(([name]) => isHalfWritten || name === "REDIS_URL")
  const missing = [...added, ...Object.entries(secrets)].filter(([name]) => isMissing(name))
  const changed = Object.entries(answers).filter(([name, value]) => (present[name] ?? "") !== value).concat(missing)
  const change = changed.map(([name, value]) => shown(name, present[name], value)).join("")
  return { text: changed.reduce(withValue, kept.value), change, written: Object.fromEntries(changed) }
}

/** Returns the name of a database that PostgreSQL serves by a socket of this machine. */
export const localDatabase = (url: string): Option.Option<string> => {
  const { hostname, pathname, searchParams } = new URL(url)
  return /^(?:\/|%2f)/i.test(searchParams.get("host") ?? hostname)
    ? Option.some(decodeURIComponent(pathname.slice(1)))
    : Option.none()
}

const TEMPLATES = {
  "route-planning-service@.service": `/etc/systemd/system/${NAME}@.service`,
  "nginx.conf": `/etc/nginx/sites-available/${NAME}`,
  "Caddyfile": `/etc/caddy/${NAME}.caddy`
}

/** These files are left out for a database elsewhere, which is backed up there. */
const BACKUP_TEMPLATES = {
  "route-planning-service-backup.service": `/etc/systemd/system/${NAME}-backup.service`,
  "route-planning-service-backup.timer": `/etc/systemd/system/${NAME}-backup.timer`
}

export const unitsOf = (answers: Answers) => portsOf(answers).map((port) => `${NAME}@${port}`).join(" ")

/**
 * Returns the directory that the units name: the link `current` beside the directory of all versions, which leads to
 * the one that starts (docs/upgrading.md). A version that is alone has its own.
 */
export const servedDirectory = (version: string) => {
  const current = join(version, "../../current")
  return lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink() === true ? current : version
}

/** Returns the files of deploy/hosting for these answers, with their paths. */
export const hostingFiles = (answers: Answers, directory: string) => {
  const ports = portsOf(answers)
  const database = localDatabase(answers.database)
  const values: Values = {
    directory,
    user: NAME,
    host: answers.address.hostname,
    units: unitsOf(answers),
    servers: ports.map((port) => `    server 127.0.0.1:${port} max_fails=0;`).join("\n"),
    // The Caddyfile, which Compose uses too, has names of the environment.
    BASE_URL: answers.address.origin,
    UPSTREAMS: ports.map((port) => `127.0.0.1:${port}`).join(" "),
    database: Option.getOrElse(database, () => ""),
    days: String(answers.days)
  }
  const templates = { ...TEMPLATES, ...Option.isSome(database) ? BACKUP_TEMPLATES : {} }
  return Effect.forEach(Object.entries(templates), ([template, path]) =>
    Effect.map(
      Effect.promise(() => readFile(join(import.meta.dirname, "../deploy/hosting", template), "utf8")),
      (text) => ({
        path,
        text: text.replaceAll(
          /\{\{(\w+)\}\}|\{\$([A-Z_]+)\}/g,
          (_, own: string, caddy: string) => values[own ?? caddy] ?? ""
        )
      })
    ))
}
