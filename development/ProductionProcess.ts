import { dirname, join } from "node:path"

/** The script runs a program on Node with the options of production. */
export const NODE = join(import.meta.dirname, "../node.sh")

/** The path begins with the directory of the running Node. */
export const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`
