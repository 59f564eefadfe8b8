import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { headingsOf, withoutCode } from "./headings.ts"

/** `npm run check` runs this: each link of a document leads to a file of the repository, and to a heading of it. */
const ROOT = join(import.meta.dirname, "..")

const documents = globSync("**/*.md", { cwd: ROOT, exclude: (name) => /(?:^|\/)(?:node_modules|\.[a-z]+)$/.test(name) })

const texts = new Map(documents.map((document) => [document, readFileSync(join(ROOT, document), "utf8")]))

const anchors = new Map([...texts].map(([document, text]) => [
  document,
  new Set(headingsOf(text).map(({ anchor }) => anchor))
]))

const problemOf = (document: string, link: string) => {
  const [path = "", anchor = ""] = link.split("#")
  const target = path === "" ? document : relative(ROOT, join(ROOT, dirname(document), decodeURI(path)))
  if (!existsSync(join(ROOT, target))) return `${document}: ${link} leads to no file`
  if (anchor === "" || anchors.get(target)?.has(anchor) !== false) return undefined
  return `${document}: ${link} leads to no heading`
}

const problems = [...texts].flatMap(([document, text]) =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$|(?:href|src)="([^"]+)"/gm)]
    .map(([, inline, reference, attribute]) => inline ?? reference ?? attribute ?? "")
    .filter((link) => !/^[a-z]+:/i.test(link))
    .map((link) => problemOf(document, link))
    .filter((problem) => problem !== undefined)
)

for (const problem of problems) process.stderr.write(`${problem}\n`)
if (problems.length > 0) process.exitCode = 1
