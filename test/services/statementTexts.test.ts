import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Statement } from "effect/sql"
import { StatementTexts } from "../../src/layers/database/StatementTexts.ts"

const compiler = PgClient.makeCompiler(undefined, false)

const { identifier, literal, parameter } = Statement

const find = (column: string, value: unknown) =>
  Statement.fragment([
    literal("SELECT "),
    identifier(column),
    literal(" FROM routes WHERE id = "),
    parameter(value),
    literal(" OR "),
    identifier(column),
    literal(" = "),
    parameter(`${value}`)
  ])

describe("texts of statements", () => {
  it("are those of the compiler, with the values of each statement", () => {
    const texts = new StatementTexts(compiler)
    const statements = [
      find("name", 1),
      find("name", 2),
      find("place_city", 2),
      find("SELECT ", 2),
      Statement.fragment([literal("SELECT 1")]),
      Statement.fragment([literal("SELECT 1"), parameter(3)]),
      Statement.fragment([literal("SELECT "), literal("1"), literal(" + ", [7]), parameter(3)]),
      Statement.fragment([literal("SELECT 1 WHERE 1 IN "), Statement.arrayHelper([1, 2, 3])]),
      Statement.fragment([literal("SELECT 1 WHERE 1 IN "), Statement.arrayHelper([1, 2])])
    ]
    for (const statement of [...statements, ...statements]) {
      assert.deepStrictEqual(texts.compile(statement, false), compiler.compile(statement, false))
    }
  })

  it("are compiled once for the same parts", () => {
    const compiled: Array<Statement.Fragment> = []
    const counting = {
      ...compiler,
      dialect: compiler.dialect,
      compile: (statement: Statement.Fragment, withoutTransform: boolean) => {
        compiled.push(statement)
        return compiler.compile(statement, withoutTransform)
      }
    }
    const texts = new StatementTexts(Object.assign(counting, { withoutTransform: compiler }))
    for (const id of [1, 2, 3]) assert.deepStrictEqual(texts.compile(find("name", id), false)[1], [id, `${id}`])
    assert.strictEqual(compiled.length, 1)
  })

  it("are forgotten when parts differ each time", () => {
    const texts = new StatementTexts(compiler)
    for (let number = 0; number < 10_000; number++) {
      const statement = Statement.fragment([literal(`SELECT ${number}`)])
      assert.deepStrictEqual(texts.compile(statement, false), [`SELECT ${number}`, []])
    }
  })
})
