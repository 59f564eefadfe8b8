import { Effect } from "effect"
import { execFile, spawn, spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { createServer, type IncomingMessage, request, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { rolldown } from "rolldown"
import { signedIn } from "./Actors.ts"
import { listening } from "./Listening.ts"
import { temporaryDirectory } from "./TemporaryDirectory.ts"
import { TestServer } from "./TestServer.ts"
import { mint } from "./Tokens.ts"

/** The program is one file, as shipped, which starts in a tenth of the time that its sources take. */
const program = Effect.promise(async () => {
  const file = join(await mkdtemp(join(tmpdir(), "rps-")), "rps.mjs")
  const bundle = await rolldown({
    input: join(import.meta.dirname, "../../packages/cli/src/main.ts"),
    platform: "node"
  })
  await bundle.write({ file, format: "esm" })
  process.on("exit", () => rmSync(dirname(file), { recursive: true }))
  return file
}).pipe(Effect.cached, Effect.runSync)

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string | undefined>>

const ended = (env: Environment, file: string, words: ReadonlyArray<string>) =>
  Effect.promise(() =>
    new Promise<Ended>((resolve) => {
      const child = execFile(file, words, { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code ?? 1)
        resolve({ code, stdout, stderr })
      })
      child.stdin?.end()
    })
  )

/** Runs `rps` to its end. */
export const rps = (env: Environment, words: ReadonlyArray<string>) =>
  Effect.andThen(program, (main) => ended(env, process.execPath, [main, ...words]))

/** Runs `rps` on a terminal of 80 columns by `script` of util-linux, which joins both outputs. */
export const rpsOnTerminal = (env: Environment, words: ReadonlyArray<string>) =>
  Effect.andThen(program, (main) => {
    const quoted = [process.execPath, main, ...words].map((word) => `'${word}'`).join(" ")
    return ended(env, "script", ["-qec", `stty cols 80; ${quoted}`, "/dev/null"])
  })

/** Runs a script of Bash that has `rps`. */
export const rpsInShell = (env: Environment, script: string) =>
  Effect.andThen(program, (main) => {
    const rps = `rps() { '${process.execPath}' '${main}' "$@"; }`
    return ended(env, "bash", ["-c", `${rps}\n${script}`])
  })

export const hasTerminal = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0

/** Starts `rps`. The effect ends when `rps` has written `text`; a failed test ends `rps`. */
export const running = (env: Environment, words: ReadonlyArray<string>, text: string) =>
  Effect.gen(function*() {
    const main = yield* program
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...words], {
          env: { ...process.env, ...env },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (process) => Effect.sync(() => process.kill("SIGKILL"))
    )
    let stdout = ""
    const written = new Promise<void>((resolve) => {
      let stderr = ""
      const look = () => stdout.includes(text) || stderr.includes(text) ? resolve() : undefined
      child.stdout.on("data", (chunk) => {
        stdout += String(chunk)
        look()
      })
      child.stderr.on("data", (chunk) => {
        stderr += String(chunk)
        look()
      })
    })
    const ended = new Promise<{ readonly code: number | null; readonly stdout: string }>((resolve) =>
      child.on("close", (code) => resolve({ code, stdout }))
    )
    yield* Effect.promise(() => written)
    return { ended: Effect.promise(() => ended), interrupt: Effect.sync(() => child.kill("SIGINT")) }
  })

/** Returns a new account with a token in the environment, and settings in a separate directory. */
export const person = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const rider = yield* signedIn
  const { token } = yield* mint(rider, "write")
  const env = { RPS_URL: origin, RPS_TOKEN: token, RPS_CONFIG_DIR: yield* temporaryDirectory }
  return { rider, env, run: (...words: ReadonlyArray<string>) => rps(env, words) }
})

/** Starts a service of somebody else, and returns the settings of a command that trusts it. */
export const elsewhere = Effect.fnUntraced(function*(listener: RequestListener) {
  const port = yield* listening(createServer(listener))
  return { RPS_URL: `http://127.0.0.1:${port}`, RPS_TOKEN: "x", RPS_CONFIG_DIR: yield* temporaryDirectory }
})

/** Starts a proxy of the server, which forwards a request after the effect `before`, and returns its address. */
export const inFront = Effect.fnUntraced(function*(before: (incoming: IncomingMessage) => Effect.Effect<unknown>) {
  const { origin } = yield* TestServer
  const port = yield* listening(createServer(async (incoming, response) => {
    await Effect.runPromise(before(incoming))
    const { headers, method, url } = incoming
    incoming.pipe(request(`${origin}${url}`, { method, headers }, (forwarded) => {
      forwarded.pipe(response.writeHead(forwarded.statusCode ?? 502, forwarded.headers))
    }))
  }))
  return `http://127.0.0.1:${port}`
})

export const linesOf = ({ stdout }: Ended): ReadonlyArray<string> => stdout.trim().split("\n")
