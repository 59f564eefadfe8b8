import { Array as Arrays, Predicate, Result, Schema } from "effect"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import { BatchOperation, operationCount, RouteBatch } from "../../schema/RouteBatch.ts"
import { decodeBounded, decodeValue, issueBelow, longBodyJob } from "../bodies/BoundedJson.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { splitRoute } from "../routes/RouteJobs.ts"

/** The operation does not match its schema; it is as the client named it. */
export interface RefusedOperation {
  readonly op: string
  readonly issues: ReadonlyArray<ValidationIssue>
}

interface SplitOperation {
  readonly rest: unknown
  readonly line?: MeasuredPolyline
  readonly refused?: RefusedOperation
}

type Split = Result.Result<SplitOperation, ReadonlyArray<ValidationIssue>>

const splitOperation = (operation: BatchOperation): Split => {
  const member = operation.op === "create" ? "route" : "changes"
  if (operation.op !== "create" && operation.op !== "update") return Result.succeed({ rest: operation })
  const body = operation.op === "create" ? operation.route : operation.changes
  return splitRoute(body).pipe(
    Result.mapError(Arrays.map(issueBelow(member))),
    Result.map(({ parts, rest }) => ({ rest: { ...operation, [member]: rest }, ...parts }))
  )
}

const decodeOperation = decodeValue(BatchOperation)

/** The body that goes on has this for a refused operation; it is never run, since its result is the refusal. */
const NEVER_RUN = { op: "deleteCollection", collectionId: 1 }

const opOf = (value: unknown) => Predicate.hasProperty(value, "op") && typeof value.op === "string" ? value.op : ""

const readOperation = (isAtomic: boolean) => (value: unknown, index: number): Split => {
  const read = Result.mapError(
    Result.flatMap(decodeOperation(value), splitOperation),
    Arrays.map(issueBelow(`operations.${index}`))
  )
  return isAtomic
    ? read
    : Result.orElse(
      read,
      (issues) => Result.succeed({ rest: NEVER_RUN, refused: { op: opOf(value), issues } })
    )
}

/** The operations are decoded one by one: one that is refused does not touch the others. An atomic batch needs all. */
const Envelope = Schema.Struct({
  ...RouteBatch.fields,
  operations: Schema.Array(Schema.Unknown).check(...operationCount)
})

const decode = decodeBounded(Envelope, RouteBatch)

const split = ({ operations, ...batch }: typeof Envelope.Type) => {
  const read = operations.map(readOperation(batch.atomic === true))
  const issues = read.flatMap((operation) => Result.isFailure(operation) ? operation.failure : [])
  if (issues.length > 0) return Result.fail(issues.slice(0, MAX_ISSUES))
  return Result.map(Result.all(read), (split) => ({
    rest: { ...batch, operations: split.map(({ rest }) => rest) },
    parts: { lines: split.map(({ line }) => line), refused: split.map(({ refused }) => refused) }
  }))
}

export const readRouteBatch = longBodyJob(
  import.meta.url,
  "read route batch",
  (text) => Result.flatMap(decode(text), split)
)
