import { dirname, join } from "node:path"

/** Runs a program on Node with the options of production. */
export const NODE = join(import.meta.dirname, "../node.sh")

/** Has the running version of Node first. */
export const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`
