import { Array as Arr, Effect, Layer, Struct } from "effect"
import {
  AdminSearch,
  type AdminUser,
  type AdminUserSort,
  type AuditEntry,
  AuditEvent,
  type Overview
} from "../../../schema/Admin.ts"
import { ValidationFailed } from "../../../schema/Errors.ts"
import { SignUpIdFromPath, type UserId, UserIdFromPath } from "../../../schema/Ids.ts"
import { NewEmail } from "../../../schema/User.ts"
import { Administration } from "../../../services/accounts/Admin.ts"
import { Invitations, type PendingInvitation } from "../../../services/accounts/SignUp.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { Audit } from "../../../services/identity/Audit.ts"
import { html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { worded } from "../../response/PublicErrors.ts"
import { type Page, plainWords } from "../layout/Layout.ts"
import { cardPage, pagesAround } from "../shared/RouteParts.ts"
import { accountPageLayer, action, done, idOf, type Visit } from "./AccountPage.ts"
import {
  button,
  confirmed,
  decodeNamed,
  fieldsOf,
  filterForm,
  filtersIn,
  form,
  hidden,
  rows,
  searched,
  select
} from "./Forms.ts"

const { endpoints } = Api.groups.admin

const around = ({ admin }: Texts) => [admin.newer, admin.older] as const

const group = (
  { admin }: Texts,
  name: keyof Overview,
  figures: Partial<Readonly<Record<keyof Texts["admin"]["figures"], number>>>
) =>
  html`<h2>${admin.groups[name]}</h2>
<dl class="facts">${
    Struct.keys(figures).map((figure) => html`<div><dt>${admin.figures[figure]}</dt><dd>${figures[figure]}</dd></div>`)
  }</dl>
`

const GROUPS = ["users", "routes", "sessions", "tokens", "collections"] as const

const overviewLayer = Layer.unwrap(Effect.gen(function*() {
  const administration = yield* Administration
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.overview,
    isForAdmins: true,
    show: ({ texts }) =>
      Effect.map(lists(administration.overview), (overview) => ({
        title: texts.admin.title,
        body: html`${GROUPS.map((name) => group(texts, name, overview[name]))}`
      }))
  })
}))

const BY_BYTES = "-storedBytes"

const userItem = ({ admin, sections }: Texts, user: AdminUser, root: string) => {
  const { createdAt, deletionRequestedAt, email, lastSeenAt, role, statistics, storedBytes } = user
  const facts = { createdAt, email, isAdmin: role === "admin", lastSeenAt, routes: statistics.totalRoutes, storedBytes }
  // Nobody sees the page of a person whose account is pending deletion.
  const handle = deletionRequestedAt === null
    ? html`<a href="${root}u/${user.handle}">@${user.handle}</a>`
    : html`@${user.handle}`
  return html`<li><div><strong>${user.name}</strong> ${handle}
<p class="hint">${admin.user(facts)}${
    deletionRequestedAt === null ? "" : `. ${admin.deletionRequested(deletionRequestedAt)}`
  }</p>
<p class="hint"><a href="${root}${
    ACCOUNT_PAGES.audit.slice(1)
  }?user=${user.id}">${sections.audit}<span class="hidden"> ${email}</span></a></p></div>
${
    deletionRequestedAt === null
      ? confirmed(
        admin.delete,
        admin.deleteWords,
        hidden("id", user.id),
        button("delete", admin.delete, "danger", email)
      )
      : undefined
  }</li>\n`
}

const usersLayer = Layer.unwrap(Effect.gen(function*() {
  const administration = yield* Administration
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.users,
    isForAdmins: true,
    show: Effect.fnUntraced(function*({ query, root, session, texts }) {
      const { admin, sections } = texts
      const { limit, offset } = cardPage(query)
      const { q } = filtersIn(query, ["q"])
      const decoded = q === undefined ? Effect.undefined : decodeNamed(AdminSearch, "q", q)
      const { error, filter: search } = yield* searched(decoded, undefined)
      const byBytes = query.get("sort") === BY_BYTES
      const sort: AdminUserSort = byBytes ? BY_BYTES : "-createdAt"
      const found = yield* lists(administration.users(session.userId, search, sort, { limit, offset }))
      const filters = { ...q === undefined ? {} : { q }, ...byBytes ? { sort } : {} }
      return {
        title: sections.users,
        error,
        body: html`${
          filterForm(
            texts,
            `${root}${ACCOUNT_PAGES.users.slice(1)}`,
            sections.users,
            fieldsOf(texts, { q }, error).input("q", { label: admin.search, type: "search" }),
            select({ name: "sort", label: admin.order, value: byBytes ? BY_BYTES : "" }, [
              ["", admin.newestFirst],
              [BY_BYTES, admin.mostBytesFirst]
            ])
          )
        }<p class="hint">${admin.accounts(found.total)}</p>
<ul class="rows">${found.items.map((user) => userItem(texts, user, root))}</ul>
${pagesAround(found, { filters, limit, offset }, texts, around(texts))}`
      }
    }),
    actions: {
      delete: action(endpoints.deleteUser, function*({ fields, session }) {
        yield* administration.deleteUser(session.userId, yield* idOf(UserIdFromPath, fields["id"]))
        return done(ACCOUNT_PAGES.users, "requested")
      })
    }
  })
}))

const invitationItem = ({ admin }: Texts) => ({ createdAt, email, expiresAt, id }: PendingInvitation) =>
  html`<li><div><strong>${email}</strong>
<p class="hint">${admin.invitation(createdAt, expiresAt)}</p></div>
${form(hidden("id", id), button("again", admin.again, "quiet", admin.to(email)))}${
    confirmed(
      admin.withdraw,
      admin.withdrawWords,
      hidden("id", id),
      button("withdraw", admin.withdraw, "danger", email)
    )
  }</li>\n`

/** Each invitation costs a mail and an entry of the audit. */
const MAX_INVITED = 50

const addressesIn = (
  text: string | undefined
) => [...new Set((text ?? "").split(/[\s,;]+/).filter((part) => part !== ""))]

const invitationsLayer = Layer.unwrap(Effect.gen(function*() {
  const invitations = yield* Invitations
  const limiter = yield* Limiter
  const { lists } = yield* Lanes

  const show = Effect.fnUntraced(function*({ fields, query, refusal, session, texts }: Visit) {
    const { admin, sections } = texts
    const { limit, offset } = cardPage(query)
    const found = yield* lists(invitations.list(session.userId, { limit, offset }))
    return {
      title: sections.invitations,
      body: html`<h2>${admin.invite}</h2>
${
        form(
          fieldsOf(texts, fields, refusal, "emails").textarea("emails", {
            required: true,
            hint: admin.inviteHint(MAX_INVITED)
          }),
          button("invite", admin.invite)
        )
      }<h2>${admin.unused}</h2>
${rows(texts, found.items, invitationItem(texts))}
${pagesAround(found, { limit, offset }, texts, around(texts))}`
    }
  })

  /** Each address counts as a request of its own. The form itself was counted for the first. */
  const counted = (admin: UserId, index: number) =>
    index === 0 ? Effect.void : limiter.count(`user:${admin}`, endpoints.invite)

  const inviteOne = ({ session, texts }: Visit, address: string, index: number) =>
    counted(session.userId, index).pipe(
      Effect.andThen(decodeNamed(NewEmail, "email", address)),
      Effect.flatMap((email) => worded(invitations.invite(session.userId, email))),
      Effect.match({
        onFailure: (error) => [{ address, problem: plainWords(texts, error) }],
        onSuccess: () => []
      })
    )

  return accountPageLayer({
    path: ACCOUNT_PAGES.invitations,
    isForAdmins: true,
    show,
    actions: {
      invite: action(endpoints.invite, function*(visit) {
        const { fields, texts: { admin } } = visit
        const given = addressesIn(fields["emails"])
        if (given.length === 0 || given.length > MAX_INVITED) {
          return yield* ValidationFailed.at("body", "", admin.howMany(MAX_INVITED))
        }
        const refused = (yield* Effect.forEach(given, (address, index) => inviteOne(visit, address, index))).flat()
        if (refused.length === 0) return done(ACCOUNT_PAGES.invitations, "invited")
        const emails = refused.map(({ address }) => address).join("\n")
        const problems = Object.entries(Arr.groupBy(refused, ({ problem }) => problem)).map(([problem, group]) =>
          `${group.map(({ address }) => address).join(", ")}: ${problem}`
        )
        const problem = admin.notInvited(given.length - refused.length, problems)
        const error = ValidationFailed.at("body", "emails", problem)
        const page: Page = { ...yield* show({ ...visit, fields: { emails }, refusal: error }), error, problem }
        return page
      }),
      again: action(endpoints.invite, function*({ fields, session }) {
        yield* invitations.mailAgain(session.userId, yield* idOf(SignUpIdFromPath, fields["id"]))
        return done(ACCOUNT_PAGES.invitations, "invited")
      }),
      withdraw: action(endpoints.invite, function*({ fields, session }) {
        yield* invitations.withdraw(session.userId, yield* idOf(SignUpIdFromPath, fields["id"]))
        return done(ACCOUNT_PAGES.invitations, "withdrawn")
      })
    }
  })
}))

const auditRow = ({ admin }: Texts) => ({ createdAt, event, subjectId, userId }: AuditEntry) =>
  html`<tr><td><time datetime="${createdAt}">${admin.time(createdAt)}</time></td><td>${admin.events[event]}</td><td>${
    userId ?? ""
  }</td><td>${subjectId ?? ""}</td></tr>\n`

const auditLayer = Layer.unwrap(Effect.gen(function*() {
  const audit = yield* Audit
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.audit,
    isForAdmins: true,
    show: Effect.fnUntraced(function*({ query, root, session, texts }) {
      const { admin, sections } = texts
      const { limit, offset } = cardPage(query)
      const filters = filtersIn(query, ["user", "event"])
      const { event, user } = filters
      const decoded = Effect.all({
        userId: user === undefined ? Effect.undefined : decodeNamed(UserIdFromPath, "user", user),
        event: event === undefined ? Effect.undefined : decodeNamed(AuditEvent, "event", event)
      })
      const { error, filter } = yield* searched(decoded, { userId: undefined, event: undefined })
      const { input, select } = fieldsOf(texts, filters, error)
      const found = yield* lists(audit.list(session.userId, filter, { limit, offset }))
      return {
        title: sections.audit,
        error,
        body: html`${
          filterForm(
            texts,
            `${root}${ACCOUNT_PAGES.audit.slice(1)}`,
            sections.audit,
            input("user"),
            select("event", [
              ["", admin.anyEvent],
              ...AuditEvent.literals.map((name) => [name, admin.events[name]] as const)
            ])
          )
        }<div class="table" role="region" aria-label="${admin.entries}" tabindex="0"><table>
<thead><tr><th scope="col">${admin.columns.time}</th><th scope="col">${admin.columns.event}</th><th scope="col">${admin.columns.user}</th><th scope="col">${admin.columns.subject}</th></tr></thead>
<tbody>${found.items.map(auditRow(texts))}</tbody></table></div>
${pagesAround(found, { filters, limit, offset }, texts, around(texts))}`
      }
    })
  })
}))

export const adminPagesLayer = Layer.mergeAll(overviewLayer, usersLayer, invitationsLayer, auditLayer)
