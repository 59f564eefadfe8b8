import { registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module"

/** The folder `src`. */
const SOURCES = import.meta.url.replace(/layers\/process\/[^/]+$/, "")

/** Packages whose modules name each other by their files, as ours do. */
const BY_FILE = /\/node_modules\/(?:effect|@effect\/[^/]+)\/dist\//

const fileNamed = (specifier: string, parent: string): ResolveFnOutput | undefined => {
  const url = new URL(specifier, parent).href
  if (url.endsWith(".ts")) return { url, format: "module-typescript", shortCircuit: true }
  if (url.endsWith(".js")) return { url, format: "module", shortCircuit: true }
  return undefined
}

type Next = (specifier: string, context: Partial<ResolveHookContext>) => ResolveFnOutput

/**
 * Imports of the service, without what Node does to find a module: it looks for the file, its links and the package that
 * it is in, once for each of 4,000 imports, which is a third of the processor time of loading the service (490 of 725 ms are
 * left: `node --cpu-prof src/main.ts`). A file that is missing fails when it is read.
 */
export const resolveByName = (): void => {
  const packages = new Map<string, ResolveFnOutput>()

  const packageNamed = (specifier: string, context: ResolveHookContext, next: Next) => {
    const known = packages.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
    packages.set(specifier, known)
    return known
  }

  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL: parent = "" } = context
      const isOwn = parent.startsWith(SOURCES)
      if (!isOwn && !BY_FILE.test(parent)) return next(specifier, context)
      if (specifier.startsWith(".")) return fileNamed(specifier, parent) ?? next(specifier, context)
      return isOwn ? packageNamed(specifier, context, next) : next(specifier, context)
    }
  })
}
