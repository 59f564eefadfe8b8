import { join } from "node:path"

/** Processes with this environment reuse files that another one has compiled, which saves a third of a start. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node") }
