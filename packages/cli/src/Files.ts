import { rmSync } from "node:fs"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { Failure } from "./Failure.ts"

/** An empty variable is as one that is not set. */
export const variable = (name: string): string | undefined => process.env[name] || undefined

const ownFolder = () =>
  variable("RPS_CONFIG_DIR") ?? join(variable("XDG_CONFIG_HOME") ?? join(homedir(), ".config"), "rps")

export const ownFile = (name: string): string => join(ownFolder(), name)

/** Returns what an error of the file system with this code stands for, and throws any other. */
export const unless = <A>(code: string, otherwise: A) => (error: unknown): A => {
  if (error instanceof Error && "code" in error && error.code === code) return otherwise
  throw error
}

/** Returns undefined if there is no such file. */
export const readText = (file: string): Promise<string | undefined> =>
  readFile(file, "utf8").catch(unless("ENOENT", undefined))

/** With `recursive`, Node's function never ends if a directory takes no other, such as /proc. */
export const makeDirectory = async (path: string): Promise<void> => {
  const make = () => mkdir(path).then(() => true, unless("EEXIST", true))
  if (dirname(path) === path || await make().catch(unless("ENOENT", false))) return
  await makeDirectory(dirname(path))
  await make()
}

/** Replaces a whole file, so that a crash leaves the old one. Other users cannot read it. */
export const replaceFile = async (file: string, data: string | Uint8Array): Promise<void> => {
  await makeDirectory(dirname(file))
  const next = `${file}.${crypto.randomUUID()}.next`
  try {
    await writeFile(next, data, { mode: 0o600 })
    await rename(next, file)
  } finally {
    await rm(next, { force: true })
  }
}

export const replaceJson = (file: string, value: unknown): Promise<void> =>
  replaceFile(file, `${JSON.stringify(value, undefined, 2)}\n`)

/** This process may have the id of one that is gone, as the first process of each container has. */
const isAnother = (pid: number): boolean => {
  try {
    return pid !== process.pid && process.kill(pid, 0)
  } catch (error) {
    // The process of another user exists.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Locks a file until this process ends. The lock of a process that is gone is void. */
export const lock = async (file: string, command: string): Promise<void> => {
  const path = `${file}.lock`
  await makeDirectory(dirname(path))
  if (await writeFile(path, String(process.pid), { flag: "wx" }).then(() => true, unless("EEXIST", false))) {
    process.on("exit", () => rmSync(path, { force: true }))
    return
  }
  const pid = Number(await readText(path))
  if (isAnother(pid)) throw Failure.because(`another rps ${command} is running: process ${pid} has ${path}`)
  await rm(path, { force: true })
  await lock(file, command)
}
