import { Result } from "effect"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { type BatchOperation, RouteBatch } from "../../schema/RouteBatch.ts"
import { decodeBounded } from "../bodies/BoundedJson.ts"
import { longBodyJob } from "../bodies/LongBody.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { splitRoute } from "../routes/RouteJobs.ts"

type Split<A> = Result.Result<
  { readonly rest: A; readonly line?: MeasuredPolyline },
  ReadonlyArray<ValidationIssue>
>

const under = (path: string) => (issues: ReadonlyArray<ValidationIssue>) =>
  issues.map((issue) => ({ ...issue, path: `${path}.${issue.path}` }))

const splitOperation = (operation: BatchOperation, index: number): Split<unknown> => {
  const member = operation.op === "create" ? "route" : "changes"
  if (operation.op !== "create" && operation.op !== "update") return Result.succeed({ rest: operation })
  const body = operation.op === "create" ? operation.route : operation.changes
  return splitRoute(body).pipe(
    Result.mapError(under(`operations.${index}.${member}`)),
    Result.map(({ parts, rest }) => ({ rest: { ...operation, [member]: rest }, ...parts }))
  )
}

const decode = decodeBounded(RouteBatch)

const split = ({ operations, ...batch }: RouteBatch) =>
  Result.map(Result.all(operations.map(splitOperation)), (split) => ({
    rest: { ...batch, operations: split.map(({ rest }) => rest) },
    parts: { lines: split.map(({ line }) => line) }
  }))

export const readRouteBatch = longBodyJob(
  import.meta.url,
  "read route batch",
  (text) => Result.flatMap(decode(text), split)
)
