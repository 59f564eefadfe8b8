import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { Socket } from "node:net"
import { createInterface } from "node:readline"

class ProcessNotStarted
  extends Schema.TaggedError<ProcessNotStarted>()("ProcessNotStarted", { message: Schema.String })
{}

interface Options {
  readonly directory: string
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  /** SIGINT is sent this many times, ten times a second, before the last signal. */
  readonly interrupts: number
  readonly lastSignal: "KILL" | "QUIT"
}

const KEPT_LINES = 8

/**
 * The supervisor stops its child when the standard input closes, as it does when this process dies, even by SIGKILL.
 * The input is kept as 3 because a shell gives background jobs an empty one; SIGINT is repeated because a job ignores
 * it until it has set up its handlers.
 */
const SUPERVISOR = `
  exec 3<&0
  trap '' INT TERM HUP
  interrupts=$1 last=$2
  shift 2
  "$@" 3<&- &
  job=$!
  {
    read -r _
    while [ $interrupts -gt 0 ] && kill -INT $job; do interrupts=$((interrupts - 1)); sleep 0.1; done
    kill -$last $job
  } <&3 >/dev/null 2>&1 &
  watcher=$!
  exec 3<&-
  wait $job
  code=$?
  kill -KILL $watcher
  wait $watcher
  exit $code
`

/** The child has its own session, so that Ctrl-C reaches it only through this process. Its only variable is `PATH`. */
const launch = (command: ReadonlyArray<string>, { directory, interrupts, lastSignal, owner }: Options) => {
  const child = spawn("sh", ["-c", SUPERVISOR, "sh", String(interrupts), lastSignal, ...command], {
    ...owner,
    cwd: directory,
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"]
  })
  const lines: Array<string> = []
  const awaited = new Map<string, () => void>()
  const ended = Promise.withResolvers<void>()
  // The output is always read, since a program blocks when its pipe is full.
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      awaited.forEach((resolve, text) => line.includes(text) && resolve())
    })
  }
  child.stdin.on("error", () => undefined)
  child.on("error", (error) => lines.push(error.message) > 0 && ended.resolve())
  child.on("close", () => ended.resolve())
  return { child, lines, awaited, ended: ended.promise }
}

const handlesOf = ({ child }: ReturnType<typeof launch>) => [
  child,
  ...[child.stdin, child.stdout, child.stderr].filter((stream) => stream instanceof Socket)
]

/** Starts a program, which runs until the scope closes or this process is killed. */
export const supervisedProcess = (command: ReadonlyArray<string>, options: Options) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => launch(command, options),
      catch: (cause) => new ProcessNotStarted({ message: cause instanceof Error ? cause.message : String(cause) })
    }),
    (launched) =>
      Effect.promise(() => {
        handlesOf(launched).forEach((handle) => handle.ref())
        launched.child.stdin.end()
        return launched.ended
      })
  ).pipe(
    Effect.map((launched) => ({
      lines: launched.lines,
      ended: launched.ended,
      /** Resolves when a line contains the text, or never. */
      lineWith: (text: string) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        launched.awaited.set(text, resolve)
        return promise
      },
      exitCode: () => launched.child.exitCode,
      unref: () => handlesOf(launched).forEach((handle) => handle.unref())
    }))
  )
