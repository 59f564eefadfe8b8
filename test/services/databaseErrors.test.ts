import { assert, describe, it } from "@effect/vitest"
import { SqlError } from "effect/sql"
import { hasWaited, isReadOnly, isServerState, sqlStateOf } from "../../src/services/db/DatabaseErrors.ts"

const reasonOf = (cause: unknown) => new SqlError.UnknownError({ cause, message: "", operation: "" })

describe("an error of the database", () => {
  it("has a code of five digits and capital letters, with a digit in it", () => {
    const codes = ["42P01", "57014", "EPIPE", "4201", "420001", "42p01"].map((code) => sqlStateOf({ code }))
    assert.deepStrictEqual(codes, ["42P01", "57014", undefined, undefined, undefined, undefined])
    assert.deepStrictEqual([{}, undefined, null, "42P01"].map(sqlStateOf), [undefined, undefined, undefined, undefined])
  })

  it("is the server's where it lacks resources, starts, stops or takes no writes", () => {
    const isOfServer = (code: string, file?: string) => isServerState(reasonOf({ code, file }))
    for (const code of ["53000", "53300", "57P01", "57P03", "25006"]) assert.isTrue(isOfServer(code), code)
    for (const code of ["54000", "57014", "25001", "55000", "40001"]) assert.isFalse(isOfServer(code), code)
    assert.isTrue(isOfServer("55000", "xlogfuncs.c"))
    assert.isFalse(isOfServer("55000", "sequence.c"))
    assert.isFalse(isOfServer("42501", "xlogfuncs.c"))
    assert.isFalse(isServerState(reasonOf(undefined)))
  })

  it("is of a server without writes by its code", () => {
    const readOnly = (cause: unknown) => isReadOnly(new SqlError.SqlError({ reason: reasonOf(cause) }))
    assert.deepStrictEqual(
      [{ code: "25006" }, { code: "55000" }, { code: "53300" }, {}].map(readOnly),
      [true, false, false, false]
    )
    assert.isFalse(isReadOnly(new Error("25006")))
    assert.isFalse(isReadOnly(undefined))
  })

  it("has waited for a lock or its own end, and no error of anything else has", () => {
    const given = { cause: undefined, message: "", operation: "" }
    const reasons = [
      new SqlError.LockTimeoutError(given),
      new SqlError.StatementTimeoutError(given),
      new SqlError.UnknownError(given)
    ]
    assert.deepStrictEqual(reasons.map((reason) => hasWaited(new SqlError.SqlError({ reason }))), [true, true, false])
    assert.isFalse(hasWaited(new Error("timeout")))
  })
})
