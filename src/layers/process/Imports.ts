import { registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module"

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

/** Finds our modules by name, without Node's search for each import (decision 0015). A missing file fails when read. */
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
