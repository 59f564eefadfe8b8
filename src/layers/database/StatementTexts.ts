import type { Statement } from "effect/sql"

/** What follows the parts so far of a statement, and its text where it ends here. */
interface Part {
  readonly literals: Map<string, Part>
  readonly identifiers: Map<string, Part>
  parameter: Part | undefined
  text: string | undefined
}

const newPart = (): Part => ({ literals: new Map(), identifiers: new Map(), parameter: undefined, text: undefined })

const following = (parts: Map<string, Part>, value: string): Part => {
  const known = parts.get(value)
  if (known !== undefined) return known
  const part = newPart()
  parts.set(value, part)
  return part
}

/** Far more than there are statements; then all are forgotten, so that parts which differ each time do not add up. */
const MAX_TEXTS = 4_000

/** Compiles a statement of the same parts to the same string, whose hash is known (decision 0015). */
export class StatementTexts implements Statement.Compiler {
  readonly compiler: Statement.Compiler
  readonly withoutTransform = this
  private first = newPart()
  private texts = 0

  constructor(compiler: Statement.Compiler) {
    this.compiler = compiler
  }

  get dialect() {
    return this.compiler.dialect
  }

  /** The last part of a statement without arrays and records, whose text is that of its literals. */
  private partOf({ segments }: Statement.Fragment, values: Array<unknown>): Part | undefined {
    let part = this.first
    for (const segment of segments) {
      if (segment._tag === "Parameter") {
        values.push(segment.value)
        part = part.parameter ??= newPart()
      } else if (segment._tag === "Identifier") part = following(part.identifiers, segment.value)
      else if (segment._tag === "Literal" && segment.params === undefined) {
        part = following(part.literals, segment.value)
      } else return undefined
    }
    return part
  }

  compile(statement: Statement.Fragment, withoutTransform: boolean): readonly [string, ReadonlyArray<unknown>] {
    const values: Array<unknown> = []
    const part = this.partOf(statement, values)
    if (part === undefined) return this.compiler.compile(statement, withoutTransform)
    if (part.text === undefined) {
      part.text = this.compiler.compile(statement, withoutTransform)[0]
      this.texts++
    }
    if (this.texts > MAX_TEXTS) this.forget()
    return [part.text, values]
  }

  private forget() {
    this.first = newPart()
    this.texts = 0
  }
}
