import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { served } from "../test/support/OpenApi.ts"
import { apiReference } from "./ApiReference.ts"
import { clientContract } from "./ClientContract.ts"
import { withTables } from "./operationsTables.ts"

/**
 * `npm run docs` generates `docs/api.md`, `docs/openapi.json`, the types of `packages/client`, the tables of
 * `docs/operations.md`, and `docs/authorization.md`, which a test measures on a running service.
 */
const ROOT = join(import.meta.dirname, "..")

writeFileSync(join(ROOT, "docs/api.md"), apiReference())
writeFileSync(join(ROOT, "docs/openapi.json"), `${JSON.stringify(served, undefined, 2)}\n`)
writeFileSync(join(ROOT, "packages/client/src/contract.ts"), clientContract())

const OPERATIONS = join(ROOT, "docs/operations.md")
writeFileSync(OPERATIONS, withTables(readFileSync(OPERATIONS, "utf8")))

const vitest = join(ROOT, "node_modules/vitest/vitest.mjs")
const measured = spawnSync(process.execPath, [vitest, "run", "test/http/authorization.test.ts", "--update"], {
  cwd: ROOT,
  stdio: "inherit"
})
process.exitCode = measured.status ?? 1
