import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { MAILS_A_DAY, MAILS_A_DAY_IN_ALL, MAILS_AN_HOUR } from "../../src/schema/Limits.ts"
import { anonymous, newEmail, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { untilNone } from "../support/Waiting.ts"

const OWN = "the password of the owner"
const NEW = "a new password of the owner"
const THEIRS = "the password of a stranger"

const HOME = "203.0.113.9"
const AWAY = "198.51.100.7"

const ADMIN = "admin@example.com"

const from = (address: string) => withHeaders({ "x-forwarded-for": address })

const delivered = SqlClient.SqlClient.use((sql) => untilNone(sql`SELECT 1 FROM outbox`))

const signUp = Effect.fnUntraced(function*(email: string, password: string, address: string) {
  const { body, status } = yield* (yield* from(address)).post("/auth/signup-email", { email, password })
  assert.deepStrictEqual([status, body], [201, { success: true }])
})

const logIn = (email: string, password: string, address = HOME) =>
  Effect.flatMap(from(address), (visitor) => visitor.post("/auth/login-email", { email, password }))

const verify = (token: string, password?: string | null) =>
  Effect.flatMap(
    anonymous,
    (visitor) => visitor.post("/auth/verify-email", password === undefined ? { token } : { token, password })
  )

const submit = (page: string, fields: Readonly<Record<string, string>>) =>
  Effect.flatMap(anonymous, (visitor) =>
    visitor.call("POST", `//${page}`, {
      raw: new URLSearchParams(fields).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" }
    }))

interface Link {
  readonly page: string
  readonly token: string
  readonly text: string
}

/** Returns what the mailbox of the address has, newest first. */
const linksTo = Effect.fnUntraced(function*(email: string) {
  yield* delivered
  const mails = yield* (yield* Mailbox).mailsTo(email)
  return mails.toReversed().flatMap(({ link, text }): ReadonlyArray<Link> => {
    const url = link === undefined ? undefined : new URL(Redacted.value(link))
    return url === undefined ? [] : [{ page: url.pathname.slice(1), token: url.searchParams.get("token") ?? "", text }]
  })
})

/** Returns the token of the newest link, which must have been asked for from that network. */
const linkFrom = Effect.fnUntraced(function*(email: string, network: string) {
  const [link] = yield* linksTo(email)
  assert.include(link?.text, ` UTC from the network ${network}.`)
  return link?.token ?? ""
})

const reasonOf = ({ body, status }: { readonly body: unknown; readonly status: number }) => {
  assert.isObject(body)
  return [
    status,
    ...Object.entries(body ?? {}).filter(([name]) => name === "code" || name === "details")
      .map(([, value]) => value)
  ]
}

const NEEDED = [409, "CONFLICT", { reason: "password_needed" }]
const WRONG = [403, "FORBIDDEN", { reason: "password_wrong" }]

const behindFront = { TRUSTED_PROXIES: "127.0.0.1/32", ADMIN_EMAILS: ADMIN }

layer(TestServer.layer(behindFront))(
  "a stranger who signs up with my address first",
  (it) => {
    it.effect("uses up no mail of mine, and neither has an account nor a password of it", () =>
      Effect.gen(function*() {
        const email = newEmail()
        yield* Effect.forEach(Array.from({ length: MAILS_AN_HOUR + 3 }), () => signUp(email, THEIRS, AWAY))
        assert.lengthOf(yield* linksTo(email), MAILS_AN_HOUR)
        const theirs = yield* linkFrom(email, "198.51.100.0/24")
        yield* signUp(email, OWN, HOME)
        const mine = yield* linkFrom(email, "203.0.113.0/24")
        assert.deepStrictEqual(reasonOf(yield* verify(theirs)), NEEDED)
        assert.deepStrictEqual(reasonOf(yield* verify(mine)), NEEDED)
        assert.deepStrictEqual(reasonOf(yield* verify(theirs, OWN)), WRONG)
        assert.deepStrictEqual(reasonOf(yield* verify(mine, THEIRS)), WRONG)
        assert.strictEqual((yield* verify(mine, OWN)).status, 200)
        assert.strictEqual((yield* logIn(email, THEIRS)).status, 401)
        assert.strictEqual((yield* logIn(email, OWN)).status, 200)
        assert.strictEqual((yield* verify(theirs, THEIRS)).status, 400)
      }))

    it.effect("leaves the link alone enough, with null for the password too, where no other sign-up is pending", () =>
      Effect.gen(function*() {
        for (const password of [undefined, null, OWN]) {
          const email = newEmail()
          yield* signUp(email, OWN, HOME)
          assert.strictEqual((yield* logIn(email, OWN)).status, 403)
          const [second, first] = yield* linksTo(email)
          assert.deepStrictEqual(reasonOf(yield* verify(first?.token ?? "", THEIRS)), WRONG)
          assert.strictEqual((yield* verify(second?.token ?? "", password)).status, 200)
        }
      }))

    it.effect("cannot use up the mails of a day for others, nor has a reset or an invitation", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const invited = newEmail()
        for (const hour of [1, 2, 3]) {
          const stranger = yield* from(AWAY)
          const networks = hour === 1 ? ["1", "2", "3", "4", "5", "6"] : []
          const asked = Array.from({ length: MAILS_AN_HOUR }, () => [
            stranger.post("/auth/request-password-reset", { email: rider.email }),
            ...networks.map((network) => signUp(invited, THEIRS, `2001:db8:${network}::1`))
          ]).flat()
          yield* Effect.all(asked, { concurrency: 8, discard: true })
          yield* delivered
          yield* TestClock.adjust("1 hour")
        }
        assert.lengthOf(yield* linksTo(rider.email), MAILS_A_DAY)
        yield* (yield* from(HOME)).post("/auth/request-password-reset", { email: rider.email })
        yield* linkFrom(rider.email, "203.0.113.0/24")
        const before = (yield* linksTo(invited)).length
        assert.strictEqual(before, MAILS_A_DAY_IN_ALL)
        yield* signUp(invited, THEIRS, "2001:db8:7::1")
        assert.lengthOf(yield* linksTo(invited), before)
        const admin = yield* signedInAs({ email: ADMIN })
        for (let n = 1; n <= 3; n++) {
          assert.strictEqual((yield* admin.post("/admin/invitations", { email: invited })).status, 201)
          assert.lengthOf(yield* linksTo(invited), before + n)
        }
        const [link] = yield* linksTo(invited)
        assert.include(link?.text, "An administrator")
        assert.strictEqual((yield* submit("reset-password", { token: link?.token ?? "", password: OWN })).status, 200)
        assert.strictEqual((yield* logIn(invited, OWN)).status, 200)
        // A notice is mailed later.
        yield* TestClock.adjust("1 day")
        yield* delivered
      }))

    it.effect("keeps no notice away by what they ask for, nor a reset by the notices that a thief of a session causes", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const askFrom = (address: string, times: number) =>
          Effect.flatMap(
            from(address),
            (visitor) =>
              visitor.post("/auth/request-password-reset", { email: rider.email }).pipe(
                Effect.repeat({ times: times - 1 })
              )
          )
        const subjects = Effect.gen(function*() {
          yield* delivered
          return (yield* (yield* Mailbox).mailsTo(rider.email)).map(({ subject }) => subject)
        })
        for (let n = 1; n < MAILS_AN_HOUR; n++) yield* mint(rider, "read")
        const networks = Array.from({ length: MAILS_A_DAY_IN_ALL / MAILS_AN_HOUR - 1 }, (_, n) => `198.51.${n}.1`)
        yield* Effect.forEach(networks, (address) => askFrom(address, MAILS_AN_HOUR))
        assert.lengthOf(yield* subjects, MAILS_A_DAY_IN_ALL - 1)
        yield* askFrom(HOME, MAILS_AN_HOUR)
        yield* linkFrom(rider.email, "203.0.113.0/24")
        yield* askFrom("192.0.2.1", 1)
        assert.lengthOf(yield* subjects, MAILS_AN_HOUR - 1 + MAILS_A_DAY_IN_ALL)
        yield* mint(rider, "read")
        assert.strictEqual((yield* subjects).at(-1), "A new access token was made")
      }))

    it.effect("has no link in my mailbox that works once the mails of a day are used up and I wait", () =>
      Effect.gen(function*() {
        const email = newEmail()
        yield* signUp(email, OWN, HOME)
        const mine = yield* linkFrom(email, "203.0.113.0/24")
        const networks = Array.from({ length: (MAILS_A_DAY_IN_ALL - 1) / MAILS_AN_HOUR }, (_, n) => `198.51.${n}.1`)
        yield* Effect.forEach(
          networks.flatMap((address) => Array.from({ length: MAILS_AN_HOUR }, () => address)),
          (address) => signUp(email, THEIRS, address),
          { concurrency: 8, discard: true }
        )
        const theirs = (yield* linksTo(email)).filter(({ token }) => token !== mine)
        // The last one is one too many for its network, which ends no link.
        yield* signUp(email, THEIRS, networks[0] ?? "")
        assert.deepStrictEqual(reasonOf(yield* verify(mine, THEIRS)), WRONG)
        yield* Effect.forEach(Array.from({ length: MAILS_AN_HOUR - 1 }), () => signUp(email, THEIRS, "198.51.99.1"))
        const all = yield* linksTo(email)
        assert.lengthOf(all, MAILS_A_DAY_IN_ALL)
        const status = Effect.fnUntraced(function*({ token }: Link) {
          return (yield* verify(token, OWN)).status
        })
        assert.deepStrictEqual(new Set(yield* Effect.forEach(theirs, status)), new Set([403]))
        yield* signUp(email, OWN, HOME)
        assert.lengthOf(yield* linksTo(email), MAILS_A_DAY_IN_ALL)
        assert.deepStrictEqual(new Set(yield* Effect.forEach(theirs, status)), new Set([400]))
        assert.strictEqual((yield* verify(mine, OWN)).status, 200)
      }))

    it.effect("is named in the mail by time and network, not by address, in what is mailed to an account too", () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(Date.UTC(2026, 10, 26, 1, 2, 3))
        const rider = yield* signedIn
        const spoken = [
          ["198.51.100.7", "198.51.100.0/24"],
          ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
          ["::ffff:192.0.2.200", "192.0.2.0/24"]
        ] as const
        for (const [address, network] of spoken) {
          for (const email of [rider.email, newEmail()]) {
            yield* signUp(email, THEIRS, address)
            yield* (yield* from(address)).post("/auth/request-password-reset", { email })
            yield* delivered
            const mails = (yield* (yield* Mailbox).mailsTo(email)).slice(-2)
            for (const { text } of mails) {
              assert.include(text, `This mail was asked for on Nov 26, 2026, 01:02 UTC from the network ${network}.`)
              assert.notInclude(text, address)
            }
          }
        }
      }))

    it.effect("has no use of an invitation: a link of before needs the password of its own sign-up", () =>
      Effect.gen(function*() {
        const email = newEmail()
        yield* signUp(email, THEIRS, AWAY)
        const theirs = yield* linkFrom(email, "198.51.100.0/24")
        yield* SqlClient.SqlClient.use((sql) =>
          sql`
          INSERT INTO sign_ups (email, email_key, name, is_invited, created_at, expires_at)
          VALUES (${email}, ${email}, 'x', true, 'epoch', 'infinity')`
        )
        assert.deepStrictEqual(reasonOf(yield* verify(theirs)), NEEDED)
      }))

    it.effect("meets a page that names the address before its buttons, and always asks for a password", () =>
      Effect.gen(function*() {
        const email = newEmail()
        yield* signUp(email, THEIRS, AWAY)
        const token = yield* linkFrom(email, "198.51.100.0/24")
        const named = `<strong>${email}</strong>`
        const { status, text } = yield* (yield* anonymous).get(`//verify-email?token=${token}`)
        assert.strictEqual(status, 200)
        assert.isAbove(text.indexOf(named), 0)
        assert.isBelow(text.indexOf(named), text.indexOf("<button"))
        for (const name of ["password", "newPassword"]) assert.include(text, `name="${name}"`)
        for (
          const { fields, status, words } of [
            { fields: {}, status: 400, words: "Enter the password that you chose when you signed up" },
            { fields: { password: "" }, status: 400, words: "Enter the password that you chose when you signed up" },
            { fields: { password: OWN }, status: 403, words: "The password is not that of the sign-up" },
            {
              fields: { newPassword: "short" },
              status: 400,
              words: "Choose another password. Use 12 to 1,024 characters."
            }
          ]
        ) {
          const refused = yield* submit("verify-email", { token, email, ...fields })
          assert.strictEqual(refused.status, status)
          assert.include(refused.text, `role="alert">${words}`)
          assert.include(refused.text, named)
          assert.include(refused.text, `name="token" value="${token}"`)
          assert.deepStrictEqual(refused.headers.getSetCookie(), [])
        }
        const chosen = yield* submit("verify-email", { token, email, newPassword: NEW })
        assert.strictEqual(chosen.status, 200)
        assert.include(chosen.text, `signed in as ${named}`)
        assert.strictEqual((yield* logIn(email, THEIRS)).status, 401)
        assert.strictEqual((yield* logIn(email, NEW)).status, 200)
      }))

    it.effect("meets no button where the link cannot be used, and the address before the button of a reset", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        const rider = yield* signedIn
        yield* (yield* from(HOME)).post("/auth/request-password-reset", { email: rider.email })
        const token = yield* linkFrom(rider.email, "203.0.113.0/24")
        const { text } = yield* visitor.get(`//reset-password?token=${token}`)
        assert.isAbove(text.indexOf(`<strong>${rider.email}</strong>`), 0)
        assert.isBelow(text.indexOf(`<strong>${rider.email}</strong>`), text.indexOf("<button"))
        for (const path of ["//verify-email?token=x", "//reset-password?token=x", `//verify-email?token=${token}`]) {
          const { status, text } = yield* visitor.get(path)
          assert.strictEqual(status, 400)
          assert.include(text, "This link is incomplete, has expired or was used already.")
          assert.notInclude(text, "<button")
        }
      }))
  }
)

interface Run {
  readonly email: string
  readonly steps: ReadonlyArray<Step>
  readonly use: Use
}

type Step = (email: string, use: Use) => Effect.Effect<unknown, unknown, TestServer | Mailbox | SqlClient.SqlClient>

/** The owner of the mailbox uses a link always with a password of her own. */
type Use = (link: Link) => Effect.Effect<unknown, unknown, TestServer>

const useOnPage: Use = ({ page, token }) =>
  submit(page, { token, [page === "verify-email" ? "newPassword" : "password"]: NEW })

const useOfApi: Use = Effect.fnUntraced(function*({ page, token }) {
  return yield* (yield* anonymous).post(`/auth/${page}`, { token, password: OWN })
})

const useAll = (email: string, use: Use) => Effect.flatMap(linksTo(email), Effect.forEach(use))

const ownerSignsUp: Step = (email) => signUp(email, OWN, HOME)

const strangerSignsUp: Step = (email) => signUp(email, THEIRS, AWAY)

/** Each of these comes beside the sign-ups of both. */
const seconds: ReadonlyArray<Step> = [
  (email) => logIn(email, THEIRS, AWAY),
  (email) => Effect.flatMap(from(AWAY), (visitor) => visitor.post("/auth/request-password-reset", { email })),
  (email) => signUp(email, THEIRS, "192.0.2.1"),
  (email) => logIn(email, OWN, HOME),
  (email) => Effect.flatMap(from(HOME), (visitor) => visitor.post("/auth/request-password-reset", { email }))
]

const USES: ReadonlyArray<Use> = [useOfApi, useOnPage]

const permutations = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.length === 0
    ? [[]]
    : all.flatMap((first, at) => permutations(all.filter((_, n) => n !== at)).map((rest) => [first].concat(rest)))

const isOpenTo = (email: string, password: string) => Effect.map(logIn(email, password), ({ status }) => status === 200)

layer(TestServer.layer(behindFront))("the holder of the mailbox", (it) => {
  it.effect("has the only password, in every order of her steps and a stranger's", () =>
    Effect.gen(function*() {
      const runs = seconds.flatMap((second, at) =>
        permutations<Step>([strangerSignsUp, second, ownerSignsUp, useAll])
          // A mailbox without a mail has nothing to use.
          .filter(([first]) => first !== useAll)
          // The uses take turns, and the next step begins with the other one: each order has both.
          .map((steps, n): Run => ({
            email: newEmail(),
            steps: [...steps, useAll],
            use: (at + n) % 2 === 0 ? useOfApi : useOnPage
          }))
      )
      assert.lengthOf(runs, 5 * 18)
      for (const [n] of (runs[0]?.steps ?? []).entries()) {
        yield* Effect.forEach(runs, ({ email, steps, use }) => steps[n]?.(email, use) ?? Effect.void, {
          concurrency: 8
        })
        yield* delivered
      }
      const ends = yield* Effect.forEach(runs, ({ email, use }) =>
        Effect.all({ stranger: isOpenTo(email, THEIRS), owner: isOpenTo(email, use === useOfApi ? OWN : NEW) }), {
        concurrency: 4
      })
      assert.strictEqual(
        ends.filter(({ stranger }) =>
          stranger
        ).length,
        0
      )
      assert.strictEqual(
        ends.filter(({ owner }) =>
          !owner
        ).length,
        0
      )
    }))

  it.effect(
    "has the only password after 64 uses of links, sign-ups and sign-ins of a stranger at once",
    () =>
      Effect.gen(function*() {
        for (const rest of [0, 1]) {
          const email = newEmail()
          yield* Effect.forEach([1, 2, 3], (n) => signUp(email, THEIRS, `198.51.${n}.1`))
          yield* signUp(email, OWN, HOME)
          yield* (yield* from(AWAY)).post("/auth/request-password-reset", { email })
          const links = yield* linksTo(email)
          assert.lengthOf(links, 5)
          const strangers: ReadonlyArray<Step> = [
            (email) => signUp(email, THEIRS, "192.0.2.1"),
            (email) => logIn(email, THEIRS, AWAY)
          ]
          yield* Effect.forEach(Array.from({ length: 64 }), (_, n) => {
            const link = links[n % links.length]
            const use = USES[n % USES.length]
            return n % 2 === rest || link === undefined || use === undefined
              ? strangers[n % 4 < 2 ? 0 : 1]?.(email, useOfApi) ?? Effect.void
              : use(link)
          }, { concurrency: "unbounded" })
          yield* useAll(email, useOfApi)
          assert.isFalse(yield* isOpenTo(email, THEIRS))
          assert.isTrue((yield* isOpenTo(email, OWN)) || (yield* isOpenTo(email, NEW)))
        }
      })
  )
})
