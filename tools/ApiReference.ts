import { Schema } from "effect"
import { COMMON_HEADERS } from "../src/http/openapi/Headers.ts"
import { REASON_WORDS } from "../src/schema/ErrorDetails.ts"
import { ServiceError } from "../src/schema/Errors.ts"
import {
  document,
  isSchema,
  type JsonSchema,
  membersOf,
  nameOf,
  type Operation,
  operations
} from "../test/support/OpenApi.ts"
import { headingsOf } from "./headings.ts"

const HEADING = `# The API

Every endpoint, made from the OpenAPI document: \`npm run docs\` generates it. The same, to be tried in a browser, is served at
\`/api\`, and as data at \`/api/openapi.json\`, where \`API_DOCS_ENABLED\` says so (everywhere but in production unless it is set). [Who may do what](authorization.md) is one table.

${document.info.description}

CONTENTS

## In short

\`\`\`sh
api=http://localhost:3000/api/v1
json='Content-Type: application/json'

# A session: sign in, then send the JWT. Each answer brings a fresh one in X-Access-Token.
session=$(curl -s "$api/auth/login-email" -H "$json" -d '{"email":"ada@example.com","password":"a long enough password"}' \\
  | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')

# A token for scripts, shown this once.
token=$(curl -s "$api/auth/tokens" -H "$json" -H "Authorization: Bearer $session" \\
  -d '{"name":"backup script","scope":"write"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')

# Store a route, import a file, list what one has.
curl -s "$api/routes" -H "$json" -H "Authorization: Bearer $token" \\
  -d '{"name":"Around Vaduz","waypoints":[{"coord":[9.5209,47.1415]}]}'
curl -s "$api/routes/import" -H 'Content-Type: application/gpx+xml' -H "Authorization: Bearer $token" --data-binary @ride.gpx
curl -si "$api/routes?limit=20&geometry=simplified" -H "Authorization: Bearer $token"

# Make it public (a token must confirm), change it only if nobody else did.
curl -s -X PATCH "$api/routes/12" -H "$json" -H "Authorization: Bearer $token" -H 'X-Service-Confirm: true' \\
  -H 'If-Match: W/"3-full-8f0b3a1c@2025-06-01T08:30:00.000Z"' -d '{"visibility":"public"}'

# Without a credential: find public routes, compute one.
curl -s "$api/routes/public?bbox=9.4,47.0,9.7,47.3&activity=cycle"
curl -s "$api/routing/route" -H "$json" \\
  -d '{"activity":"cycle","preferences":{},"locations":[{"lat":47.1415,"lon":9.5209},{"lat":47.1501,"lon":9.53}]}'
\`\`\`

## Finding, and reading a whole list

\`q\` has up to 10 words; each must begin a word in a route's name, description, tags, place or names of waypoints, without
regard to letter case and accents. All [filters](#list-own-routes) of \`GET /routes\` combine, and \`tag\` may be repeated.
\`X-Total-Count\` has how many match.

\`\`\`sh
curl -si "$api/routes?q=zurich%20grav&tag=loop&sort=relevance&geometry=none&limit=50" -H "Authorization: Bearer $session"
# X-Total-Count: 137
# Link: ..., <http://localhost:3000/api/v1/routes?q=zurich+grav&...&limit=50&cursor=AQtBN8eW...>; rel="next", ...
\`\`\`

Follow \`next\` until there is none. Its cursor is the position of the last item: an item that is there throughout comes once,
whatever is added or deleted meanwhile, and a late page costs as much as the first. One whose place in the order changes,
such as a route that is changed while it is read by \`-updatedAt\`, may come twice or not at all. \`limit\` and \`geometry\`
may change from page to page; with other filters, another sort or another caller a cursor is 400, and so it is once
\`JWT_SECRET\` changes: start again without it. \`offset\` works as before, and the \`next\` of such a page has an \`offset\`.
`

const REASONS = [
  "## Reasons of errors",
  "",
  "`details.reason` is one of these. Each error of the statuses 401, 403, 409, 410 and 429 has one.",
  "",
  "| status | reason | |",
  "|---|---|---|",
  ...Object.entries(REASON_WORDS).flatMap(([status, words]) =>
    Object.entries(words).map(([reason, meaning]) => `| ${status} | \`${reason}\` | ${meaning} |`)
  ),
  ""
]

const code = (text: string) => `\`${text}\``

const cell = (text: string) => text.replaceAll("|", "\\|")

const linkTo = (name: string) => `[${code(name)}](#${name.toLowerCase()})`

const bounds = ({ maximum, minimum }: JsonSchema) =>
  minimum === undefined && maximum === undefined ? "" : ` ${String(minimum ?? "")} to ${String(maximum ?? "")}`

/** Returns the part of a schema that applies to one of its types. */
const ofType = (schema: JsonSchema, type: unknown): JsonSchema => {
  if (type === "null") return { type }
  const { enum: values, ...rest } = schema
  return { ...rest, type, ...(Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {}) }
}

/** Describes a schema in a few words. */
const typeOf = (schema: JsonSchema): string => {
  if (typeof schema["$ref"] === "string") return linkTo(nameOf(schema["$ref"]))
  const choices = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(choices)) return choices.filter(isSchema).map(typeOf).join(" or ")
  if (Array.isArray(schema["type"])) return schema["type"].map((type) => typeOf(ofType(schema, type))).join(" or ")
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => code(String(value))).join(", ")
  if (schema["type"] === "array" && isSchema(schema["items"])) return `array of ${typeOf(schema["items"])}`
  return `${String(schema["type"] ?? "any")}${bounds(schema)}`
}

const parameterRow = ({ description = "", in: place, name, required, schema }: Operation["parameters"][number]) =>
  `| ${code(name)} | ${place}${required ? ", required" : ""} | ${cell(typeOf(schema))} | ${cell(description)} |`

const parameterTable = ({ parameters }: Operation) =>
  parameters.length === 0
    ? []
    : ["| parameter | in | type | |", "|---|---|---|---|", ...parameters.map(parameterRow), ""]

const contentOf = (content: Readonly<Record<string, { readonly schema: JsonSchema }>> = {}) =>
  Object.entries(content).map(([type, { schema }]) => type === "application/json" ? typeOf(schema) : code(type)).join(
    ", "
  )

const answerLine = ([status, answer]: readonly [string, Operation["responses"][string]]) => {
  if ("$ref" in answer) return []
  const own = Object.keys(answer.headers ?? {}).filter((name) => !COMMON_HEADERS.some((common) => common === name))
  const headers = own.map(code).join(", ")
  return [
    `- ${status}: ${contentOf(answer.content) || answer.description}${headers === "" ? "" : `; headers ${headers}`}`
  ]
}

const errorsOf = ({ responses }: Operation) =>
  Object.entries(responses).filter(([, answer]) => "$ref" in answer).map(([status]) => status).join(", ")

const sectionOf = ({ method, operation, path }: typeof operations[number]) => [
  `### ${operation.summary}`,
  "",
  code(`${method} ${path}`),
  "",
  operation.description,
  "",
  ...parameterTable(operation),
  ...(operation.requestBody === undefined ? [] : [`- Body: ${contentOf(operation.requestBody.content)}`]),
  ...Object.entries(operation.responses).flatMap(answerLine),
  `- Errors: ${errorsOf(operation)}`,
  ""
]

const groupSections = () =>
  document.tags.flatMap(({ description, name }) => [
    `## ${name}`,
    "",
    description,
    "",
    ...operations.filter(({ operation }) => operation.tags[0] === name).flatMap(sectionOf)
  ])

/** The document has only those of operations. A request that reaches none may get the others. */
const errorRow = (error: typeof ServiceError.members[number]) => {
  const { description = "", httpApiStatus } = Schema.resolveAnnotations(error) ?? {}
  return `| ${httpApiStatus} | ${code(error.fields.code.schema.literal)} | ${cell(description)} |`
}

const errorTable = () => [
  "## Errors",
  "",
  "| status | code | when |",
  "|---|---|---|",
  ...ServiceError.members.map(errorRow).toSorted(),
  ""
]

const headerTable = () => [
  "## Headers of answers",
  "",
  `Every answer may have ${COMMON_HEADERS.map(code).join(", ")}.`,
  "",
  "| header | |",
  "|---|---|",
  ...Object.entries(document.components.headers).map(([name, { description }]) => `| ${code(name)} | ${description} |`),
  ""
]

const memberRow = (required: ReadonlyArray<unknown>) => ([name, schema]: readonly [string, JsonSchema]) => {
  const description = typeof schema["description"] === "string" ? schema["description"] : ""
  return `| ${code(name)} | ${required.includes(name) ? "required" : ""} | ${cell(typeOf(schema))} | ${
    cell(description)
  } |`
}

const memberTable = (schema: JsonSchema) =>
  isSchema(schema["properties"])
    ? [
      "| member | | type | |",
      "|---|---|---|---|",
      ...[...membersOf(schema)].map(memberRow(Array.isArray(schema["required"]) ? schema["required"] : [])),
      ""
    ]
    : []

const exampleOf = ({ examples }: JsonSchema) =>
  Array.isArray(examples) ? ["```json", JSON.stringify(examples[0], undefined, 2), "```", ""] : []

const choiceLine = (schema: JsonSchema) =>
  "oneOf" in schema || "anyOf" in schema ? [`- Exactly one of ${typeOf(schema)}`, ""] : []

const schemaSection = ([name, schema]: readonly [string, JsonSchema]) =>
  [
    `### ${name}`,
    "",
    String(schema["description"]),
    "",
    ...choiceLine(schema),
    ...memberTable(schema),
    ...exampleOf(schema)
  ].join("\n")

const BODIES = "Bodies"

const schemaSections = () => [
  `## ${BODIES}`,
  "",
  ...Object.entries(document.components.schemas).toSorted(([a], [b]) => a.localeCompare(b)).map(schemaSection)
]

/** Lists the sections with their endpoints, but for the bodies only the section. */
const contentsOf = (text: string) => {
  const headings = headingsOf(text)
  const bodies = headings.findIndex(({ text }) => text === BODIES)
  return headings.slice(0, bodies + 1)
    .filter(({ level }) => level > 1)
    .map(({ anchor, level, text }) => `${level === 2 ? "" : "  "}- [${text}](#${anchor})`)
    .join("\n")
}

export const apiReference = (): string => {
  const sections = [HEADING, ...groupSections(), ...errorTable(), ...REASONS, ...headerTable(), ...schemaSections()]
  const text = sections.join("\n").trimEnd()
  return `${text.replace("\nCONTENTS\n", () => `\n## Contents\n\n${contentsOf(text)}\n`)}\n`
}
