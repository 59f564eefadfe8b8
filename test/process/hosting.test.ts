import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"

const ROOT = join(import.meta.dirname, "../..")

/** It takes minutes, and the network for Debian's packages. */
const isAsked = process.env["CHECK_HOSTING"] === "true" && process.getuid?.() === 0
  && ["debootstrap", "systemd-nspawn"].every((command) => spawnSync(command, ["--version"]).status === 0)

it.live.skipIf(!isAsked)(
  "a fresh Debian becomes a service with TLS, mail, backups and a member by docs/hosting.md",
  () =>
    Effect.promise(async () => {
      const child = spawn("bash", ["checks/hosting.sh"], { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] })
      const code = new Promise<number | null>((resolve) => child.once("close", resolve))
      const output = await text(child.stdout)
      assert.strictEqual(await code, 0, output)
    }),
  3_600_000
)
