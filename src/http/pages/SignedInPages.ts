import { Effect, Layer, Option } from "effect"
import type { PersonalAccessToken } from "../../schema/Credential.ts"
import { Conflict, Forbidden, type ServiceError, Unauthorized } from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import type { SessionPrincipal } from "../../schema/Principal.ts"
import { inOneLine } from "../../schema/Text.ts"
import type { User } from "../../schema/User.ts"
import { AccountDeletion } from "../../services/accounts/Deletion.ts"
import { Profiles } from "../../services/accounts/Profile.ts"
import { PersonalAccessTokens } from "../../services/accounts/Tokens.ts"
import { erasureDueAt } from "../../services/db/Sweeps.ts"
import { html } from "../../services/operations/Html.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Api } from "../api/Api.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { type Endpoint, Limiter } from "../middleware/RateLimit.ts"
import { PAGES } from "../request/RouteTemplates.ts"
import { doneNotice } from "./account/AccountPage.ts"
import { checkAccount, hidden, MADE_FOR } from "./account/Forms.ts"
import { alert, type Page, plainWords } from "./layout/Layout.ts"
import { type Fields, pageLayer } from "./layout/PageRoutes.ts"
import { otherSignIns, signInByForm, signInForm } from "./layout/SignInForm.ts"

const signedOut = () =>
  new Unauthorized({ message: "You are not signed in: sign in again", details: { reason: "not_signed_in" } })

interface SignedInPage<E, R> {
  readonly path: typeof PAGES.cancelDeletion | typeof PAGES.revokeTokens
  /** The page has the rate limit of this endpoint, which does the same. */
  readonly endpoint: Endpoint
  readonly words: { readonly title: string; readonly lead: string }
  readonly show: (session: SessionPrincipal) => Effect.Effect<Page, E, R>
  readonly act: (session: SessionPrincipal) => Effect.Effect<Page, E, R>
}

/** A person whose account is pending deletion has no other page. */
const readBy = ({ deletion, role }: SessionPrincipal) => (page: Page): Page =>
  deletion === "none" ? { ...page, reader: role } : page

/** Serves a page that mails lead to: it signs in first, and does one thing. */
const signedInPageLayer = <E, R>(texts: Texts, { act, endpoint, path, show, words }: SignedInPage<E, R>) =>
  Layer.unwrap(Effect.gen(function*() {
    const authenticator = yield* Authenticator
    const limiter = yield* Limiter
    const signIn = yield* signInByForm
    const others = yield* otherSignIns(path)
    const action = path.slice(path.lastIndexOf("/") + 1)

    const signInPage = (email: string, error?: ServiceError): Page => ({
      title: words.title,
      body: html`${alert(error && plainWords(texts, error))}
<p>${words.lead}</p>
${signInForm(texts, action, email, error)}
${others}`,
      error
    })

    const currentSession = Effect.map(
      authenticator.readOptional(endpoint),
      Option.flatMap((principal) => principal.kind === "session" ? Option.some(principal) : Option.none())
    )

    const acted = Effect.fnUntraced(function*({ [MADE_FOR]: account }: Fields) {
      const session = yield* currentSession
      if (Option.isNone(session)) return yield* signedOut()
      yield* checkAccount(session.value, account)
      yield* limiter.count(`user:${session.value.userId}`, endpoint)
      return readBy(session.value)(yield* act(session.value))
    })

    return pageLayer({
      path,
      show: Effect.fnUntraced(function*(query) {
        const session = yield* currentSession
        const page = Option.isNone(session) ? signInPage("") : readBy(session.value)(yield* show(session.value))
        return { ...page, body: html`${doneNotice({ query, texts })}${page.body}` }
      }),
      submit: {
        run: Effect.fnUntraced(function*(fields, request) {
          if (fields["email"] === undefined) return yield* acted(fields)
          yield* signIn(fields, request)
          return { seeOther: action }
        }),
        refused: (error, { email }) =>
          email === undefined && error.statusCode !== 401
            ? {
              title: words.title,
              body: html`${alert(plainWords(texts, error))}<p><a href="${action}">${words.title}</a></p>`,
              error
            }
            : signInPage(email ?? "", error)
      }
    })
  }))

const tooLate = () =>
  new Conflict({
    message: `The ${inWords(GRACE_PERIOD)} are over: this account can no longer be kept`,
    details: { reason: "nothing_to_cancel" }
  })

const pendingPage = ({ keep, wording }: Texts, { email, id }: User, until: Date): Page => ({
  title: keep.title,
  body: html`<p>${keep.pending(html`<strong>${email}</strong>`, html`<strong>${wording.date(until)}</strong>`)}</p>
<form method="post" action="cancel-deletion">${hidden(MADE_FOR, id)}
<button type="submit">${keep.button}</button>
</form>
<p>${keep.close}</p>`
})

const nothingPending = ({ keep }: Texts, { email }: User): Page => ({
  title: keep.title,
  body: html`<p>${keep.nothing(html`<strong>${email}</strong>`)}</p>`
})

const kept = ({ keep, link }: Texts, { role }: SessionPrincipal): Page => ({
  title: keep.doneTitle,
  body: html`<p role="status">${keep.done}</p>
<h2>${link.next}</h2>
<p><a class="button" href="routes">${keep.routes}</a></p>
<p>${keep.apps}</p>`,
  reader: role
})

const cancelDeletionLayer = Layer.unwrap(Effect.gen(function*() {
  const deletion = yield* AccountDeletion
  const profiles = yield* Profiles
  const { texts } = yield* configuredSite
  const { keep } = texts
  return signedInPageLayer(texts, {
    path: PAGES.cancelDeletion,
    endpoint: Api.groups.users.endpoints.cancelDeletion,
    words: keep,
    show: Effect.fnUntraced(function*(session) {
      if (session.deletion === "over") return { title: keep.title, body: alert(keep.tooLate), error: tooLate() }
      const user = yield* profiles.user(session.userId)
      return user.deletionRequestedAt === null
        ? nothingPending(texts, user)
        : pendingPage(texts, user, erasureDueAt(new Date(user.deletionRequestedAt)))
    }),
    act: (session) => Effect.as(deletion.cancel(session.userId), kept(texts, session))
  })
}))

const pending = () =>
  new Forbidden({
    message: "The account is pending deletion, and its tokens do not work: cancel the deletion first",
    details: { reason: "account_pending_deletion" }
  })

const requireKept = ({ deletion }: SessionPrincipal) => deletion === "none" ? Effect.void : Effect.fail(pending())

const itemOf = (texts: Texts) => (token: PersonalAccessToken) =>
  html`<li><strong>${inOneLine(token.name)}</strong> (${token.hint}): ${texts.tokens.facts(token)}</li>\n`

const listPage = (texts: Texts, { email, id }: User, tokens: ReadonlyArray<PersonalAccessToken>): Page => {
  const { revoke } = texts
  const address = html`<strong>${email}</strong>`
  return {
    title: revoke.title,
    body: tokens.length === 0
      ? html`<p>${revoke.none(address)}</p>`
      : html`<p>${revoke.list(address)}</p>
<ul>
${tokens.map(itemOf(texts))}</ul>
<form method="post" action="revoke-tokens">${hidden(MADE_FOR, id)}
<button type="submit">${revoke.button}</button>
</form>
<p>${revoke.effect}</p>`
  }
}

const revoked = ({ link, revoke }: Texts): Page => ({
  title: revoke.doneTitle,
  body: html`<p role="status">${revoke.done}</p>
<h2>${link.next}</h2>
<p>${revoke.next}</p>`
})

/** People without an app need this page: a password reset leaves tokens alive. */
const revokeTokensLayer = Layer.unwrap(Effect.gen(function*() {
  const profiles = yield* Profiles
  const tokens = yield* PersonalAccessTokens
  const { texts } = yield* configuredSite
  return signedInPageLayer(texts, {
    path: PAGES.revokeTokens,
    endpoint: Api.groups.tokens.endpoints.revoke,
    words: texts.revoke,
    show: Effect.fnUntraced(function*(session) {
      yield* requireKept(session)
      const { userId } = session
      return listPage(texts, yield* profiles.user(userId), yield* tokens.list(userId))
    }),
    act: Effect.fnUntraced(function*(session) {
      yield* requireKept(session)
      yield* tokens.revokeAll(session.userId)
      return revoked(texts)
    })
  })
}))

export const signedInPagesLayer = Layer.mergeAll(cancelDeletionLayer, revokeTokensLayer)
