import { Exit, Option } from "effect"
import { hasWaited } from "../../services/sql/ServerState.ts"

/** Milliseconds: how long a text is blocked, how long one that tries may take, and how long an unused text is kept. */
const PERIODS = { blocked: 1000, tried: 5000, kept: 5000 }

/** What the texts of a statement have in common, however many rows or values each was made for. */
const commonText = (text: string) =>
  text.replaceAll(/\$\d+/g, "$$").replaceAll(/\(\$(?:, ?\$)*\)(?:, ?\(\$(?:, ?\$)*\))*/g, "($$)")

/** An interrupted statement may have waited as well. */
const mayHaveWaited = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) &&
  Option.match(Exit.findErrorOption(exit), {
    onNone: () => true,
    onSome: hasWaited
  })

/**
 * Texts of statements that fail at once because too many of them waited for a table, whatever their number of rows or
 * values. After a second one statement of a text tries while the others still fail: it ends the block, or waits as well,
 * which is another second of it.
 */
export class BlockedStatements {
  private readonly until = new Map<string, number>()

  get isEmpty(): boolean {
    return this.until.size === 0
  }

  block(text: string, now: number): void {
    const common = commonText(text)
    this.until.set(common, Math.max(this.until.get(common) ?? 0, now + PERIODS.blocked))
  }

  /** What tries or runs is reported to `ended`. */
  admit(text: string, now: number): "runs" | "tries" | "fails" {
    const common = commonText(text)
    const until = this.until.get(common)
    if (until === undefined) return "runs"
    if (now < until) return "fails"
    this.until.set(common, now + PERIODS.tried)
    return "tries"
  }

  ended(text: string, isTry: boolean, exit: Exit.Exit<unknown, unknown>, now: number): void {
    const common = commonText(text)
    if (!mayHaveWaited(exit)) this.until.delete(common)
    else if (isTry) this.until.set(common, now + PERIODS.blocked)
  }

  /** Otherwise all but the first who use a text long afterwards would fail. */
  forget(now: number): void {
    for (const [text, until] of this.until) if (until + PERIODS.kept <= now) this.until.delete(text)
  }
}
