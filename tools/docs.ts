import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { apiReference } from "./ApiReference.ts"
import { withLanesTable } from "./lanesTable.ts"
import { withSettingsTable } from "./settingsTable.ts"

/**
 * `npm run docs` generates `docs/api.md` from the contract, the tables of settings and lanes in `docs/operations.md`,
 * and `docs/authorization.md` from what a running service responds to every kind of caller, which a test measures.
 */
const ROOT = join(import.meta.dirname, "..")

writeFileSync(join(ROOT, "docs/api.md"), apiReference())

const OPERATIONS = join(ROOT, "docs/operations.md")
writeFileSync(OPERATIONS, withLanesTable(withSettingsTable(readFileSync(OPERATIONS, "utf8"))))

const vitest = join(ROOT, "node_modules/vitest/vitest.mjs")
const measured = spawnSync(process.execPath, [vitest, "run", "test/http/authorization.test.ts", "--update"], {
  cwd: ROOT,
  stdio: "inherit"
})
process.exitCode = measured.status ?? 1
