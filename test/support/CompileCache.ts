import { join } from "node:path"

/** The environment of a process that compiles no file that another one has compiled: a third of the time that a start takes. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node") }
