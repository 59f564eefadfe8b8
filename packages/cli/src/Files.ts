import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"

const ownFolder = () =>
  process.env["RPS_CONFIG_DIR"] ?? join(process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config"), "rps")

/** A file of the command line itself. */
export const ownFile = (name: string): string => join(ownFolder(), name)

/** Undefined if there is no such file. */
export const readText = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  }
}

/** Replaces a file as a whole, so that a crash leaves the old one. Other users cannot read it. */
export const replaceFile = async (file: string, data: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(file), { recursive: true })
  const next = `${file}.next`
  await writeFile(next, data, { mode: 0o600 })
  await rename(next, file)
}

export const replaceJson = (file: string, value: unknown): Promise<void> =>
  replaceFile(file, `${JSON.stringify(value, undefined, 2)}\n`)
