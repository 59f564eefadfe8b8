import { execFile } from "node:child_process"
import { mkdir, readdir, rm } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { exists, makeDraft, settle } from "./PostgresBinaries.ts"

/** The wheels on PyPI need Python 3.12; for an older Python pip installs an engine that is years old. */
const REQUIREMENT = "pyvalhalla==3.9.1"

const OLDEST_PYTHON = 12

const NO_PYTHON =
  "no Python 3.12 or newer was found, on the path or of pyenv. Without one, run the engine in a container "
  + "(deploy/README.md: An extract for Valhalla) and set ROUTING_ENGINE_URL"

const runProgram = promisify(execFile)

const lastLines = (text: string) => text.split("\n").filter((line) => line !== "").slice(-8).join("\n")

const outputOfError = (error: Error) =>
  ["stdout" in error ? error.stdout : "", "stderr" in error ? error.stderr : ""].join("\n")

const problemOf = (error: unknown) => {
  if (!(error instanceof Error)) return String(error)
  const output = lastLines(outputOfError(error))
  return output === "" ? error.message : output
}

export const outputOf = (command: string, args: ReadonlyArray<string>): Promise<string> =>
  runProgram(command, [...args], { maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout,
    (error: unknown) => Promise.reject(new Error(problemOf(error), { cause: error }))
  )

const pyenvPythons = () => {
  const versions = join(homedir(), ".pyenv", "versions")
  return readdir(versions).then((names) => names.map((name) => join(versions, name, "bin", "python")), () => [])
}

const minorVersion = (python: string) =>
  outputOf(python, ["-c", "import sys; print(sys.version_info.minor if sys.version_info.major == 3 else 0)"])
    .then(Number, () => 0)

const findPython = async (): Promise<string | undefined> => {
  const candidates = ["python3.14", "python3.13", "python3.12", "python3", ...await pyenvPythons()]
  const versions = await Promise.all(candidates.map(minorVersion))
  return candidates.find((_, index) => (versions[index] ?? 0) >= OLDEST_PYTHON)
}

export const madeOnce = async (
  directory: string,
  prepare: (prepared: string) => Promise<unknown>
): Promise<void> => {
  if (await exists(directory)) return
  await mkdir(dirname(directory), { recursive: true })
  const draft = await makeDraft(directory)
  const prepared = join(draft, "prepared")
  try {
    await prepare(prepared)
    await settle(prepared, directory, ".")
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Python's path is used and not the scripts beside it, which name the draft directory that they were installed in. */
export const pythonOf = (environment: string): string => join(environment, "bin", "python")

const PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]

const install = (environment: string, requirement: string, more: ReadonlyArray<string> = []) =>
  outputOf(pythonOf(environment), [...PIP_INSTALL, ...more, requirement]).catch((error: unknown) =>
    Promise.reject(new Error(`pip install ${requirement}: ${problemOf(error)}`, { cause: error }))
  )

export const installInto = (environment: string, directory: string, requirement: string): Promise<string> =>
  install(environment, requirement, ["--target", directory])

export const engineEnvironment = async (directory: string): Promise<string> => {
  const environment = join(directory, "venv")
  await madeOnce(environment, async (prepared) => {
    const python = await findPython()
    if (python === undefined) throw new Error(NO_PYTHON)
    await outputOf(python, ["-m", "venv", prepared])
    await install(prepared, REQUIREMENT)
  })
  return environment
}

export const engineProgram = async (environment: string, name: string): Promise<string> => {
  const packages = await outputOf(pythonOf(environment), ["-c", "import valhalla; print(valhalla.__path__[0])"])
  return join(packages.trim(), "bin", name)
}
