import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { isUnambiguous, NewEmail } from "../../src/schema/User.ts"
import { emailKey, mailboxOf } from "../../src/services/identity/Users.ts"

const isAccepted = Schema.is(NewEmail)

const addressOf = (local: string) => `${local}@example.com`

/** Other systems may change a text in these ways when they compare it. */
const FOLDS: ReadonlyArray<(text: string) => string> = [
  (text) => text.normalize("NFC"),
  (text) => text.normalize("NFKC"),
  (text) => text.toLowerCase(),
  (text) => text.toUpperCase().toLowerCase(),
  (text) => text.normalize("NFKC").toLowerCase(),
  (text) => text.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC")
]

/** They are all that Unicode assigns. */
const characters = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code))
  .filter((character) => !/[\p{Cn}\p{Co}\p{Cs}]/u.test(character))

const CONFUSABLES = {
  "KELVIN SIGN": ["\u212Aim", "kim"],
  "LONG S": ["\u017Fam", "sam"],
  "CAPITAL I WITH DOT": ["\u0130da", "ida"],
  "FULLWIDTH LETTER": ["\uFF41da", "ada"],
  "LIGATURE FI": ["\uFB01ona", "fiona"],
  "LIGATURE LONG S T": ["\uFB05an", "stan"],
  "SHARP S": ["stra\u00DFe", "strasse"],
  "CAPITAL SHARP S": ["stra\u1E9Ee", "strasse"],
  "FINAL SIGMA": ["\u03C2", "\u03C3"],
  "ANGSTROM SIGN": ["\u212B", "\u00E5"],
  "CAPITAL E WITH ACUTE": ["\u00C9va", "\u00E9va"],
  "E AND COMBINING ACUTE": ["e\u0301va", "\u00E9va"],
  "H AND COMBINING MACRON BELOW": ["H\u0331", "\u1E96"],
  "SUPERSCRIPT TWO": ["a\u00B2", "a2"],
  "SOFT HYPHEN": ["a\u00ADda", "ada"],
  "ZERO WIDTH JOINER": ["a\u200Dda", "ada"],
  "MATHEMATICAL BOLD A": ["\u{1D400}da", "ada"],
  "CHEROKEE SMALL LETTER": ["\uAB70", "\u13A0"]
} as const

describe("an email address", () => {
  for (const [name, [lookAlike, other]] of Object.entries(CONFUSABLES)) {
    it(`with ${name} is not accepted for an account, and is not the address that it looks like`, () => {
      assert.isFalse(isAccepted(addressOf(lookAlike)))
      assert.isTrue(isAccepted(addressOf(other)))
      assert.notStrictEqual(emailKey(addressOf(lookAlike)), emailKey(addressOf(other)))
      assert.strictEqual(emailKey(addressOf(lookAlike)), addressOf(lookAlike))
    })
  }

  it("is known by A to Z in any case, and otherwise by its spelling only", () => {
    assert.strictEqual(emailKey("Kim.ADMIN+Tag@Example.COM"), "kim.admin+tag@example.com")
    assert.strictEqual(emailKey("J\u00F6rg@b\u00FCcher.example"), emailKey("j\u00F6rg@XN--BCHER-KVA.example"))
    assert.notStrictEqual(emailKey("j\u00F6rg@x.example"), emailKey("J\u00D6RG@x.example"))
    assert.notStrictEqual(emailKey("\u00C9va@x.example"), emailKey("\u00C9VA@x.example"))
  })

  it("with any one character of Unicode, where it is accepted, is folded by no system to another address", () => {
    const accepted = characters.map((character) => `a${character}b`).filter(isUnambiguous)
    assert.isAbove(accepted.length, 50_000)
    const keys = new Set(accepted.map((local) => emailKey(addressOf(local))))
    // A to Z have the keys of a to z.
    assert.strictEqual(keys.size, accepted.length - 26)
    // Cherokee has its capitals as the folded form (CaseFolding.txt).
    const folded = accepted.filter((local) =>
      !/\p{Script=Cherokee}/u.test(local)
      && FOLDS.slice(0, 3).some((fold) => fold(local).toLowerCase() !== local.toLowerCase())
    )
    assert.deepStrictEqual(folded, [])
  })

  it("with any one character of Unicode has the key of an ASCII address only where it is that one", () => {
    const taken = characters.map((character) => `a${character}b`).filter((local) =>
      FOLDS.map((fold) => fold(local)).some((folded) =>
        /^[\x21-\x7e]+$/.test(folded) && !/^[\x21-\x7e]+$/.test(local) &&
        emailKey(addressOf(local)) === emailKey(addressOf(folded))
      )
    )
    assert.deepStrictEqual(taken, [])
  })

  it("is mailed to the domain that it is compared by", () => {
    assert.strictEqual(mailboxOf("Kim@\uFF45xample.com"), "Kim@example.com")
    assert.strictEqual(mailboxOf("j\u00F6rg@B\u00FCcher.example"), "j\u00F6rg@xn--bcher-kva.example")
    assert.strictEqual(mailboxOf("\u212Aim@example.com"), "\u212Aim@example.com")
  })
})
