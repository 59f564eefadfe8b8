import { Effect } from "effect"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { COMPILE_CACHE } from "./CompileCache.ts"

/** Runs a program to its end. */
export const runProgram = (file: string, env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number | null; readonly output: string }>((resume) => {
    const path = join(import.meta.dirname, "../..", file)
    const child = spawn(process.execPath, ["--disable-proto=delete", path, ...args], {
      env: { ...COMPILE_CACHE, PORT: "0", HOST: "127.0.0.1", ...env }
    })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    child.on("close", (code) => resume(Effect.succeed({ code, output: Buffer.concat(chunks).toString() })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
