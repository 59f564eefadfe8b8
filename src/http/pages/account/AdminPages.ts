import { Effect, Layer } from "effect"
import { AdminSearch, type AdminUser, type AuditEntry, AuditEvent, type Overview } from "../../../schema/Admin.ts"
import { ValidationFailed } from "../../../schema/Errors.ts"
import { SignUpIdFromPath, UserIdFromPath } from "../../../schema/Ids.ts"
import { GRACE_PERIOD, INVITATION_LIFETIME, inWords } from "../../../schema/Limits.ts"
import { NewEmail } from "../../../schema/User.ts"
import { Administration } from "../../../services/accounts/Admin.ts"
import { Invitations, type PendingInvitation } from "../../../services/accounts/SignUp.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { Audit } from "../../../services/identity/Audit.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { worded } from "../../response/PublicErrors.ts"
import { cardPage, pagesAround } from "../shared/RouteParts.ts"
import { accountPageLayer, done, idOf } from "./AccountPage.ts"
import { button, confirmed, day, decodeForm, form, hidden, input, orNull, select, textarea } from "./Forms.ts"

const { endpoints } = Api.groups.admin

const AROUND = ["Newer", "Older"] as const

const group = (title: string, counts: Readonly<Record<string, number>>) =>
  html`<h2>${title}</h2>
<dl class="facts">${
    Object.entries(counts).map(([name, count]) =>
      html`<div><dt>${name.replace(/[A-Z0-9]+/g, (part) => ` ${part.toLowerCase()}`)}</dt><dd>${count}</dd></div>`
    )
  }</dl>
`

const overviewBody = ({ collections, routes, sessions, tokens, users }: Overview): Html =>
  html`${group("Users", { ...users })}${group("Routes", { ...routes })}${group("Sessions", { ...sessions })}${
    group("Tokens and collections", { tokens: tokens.live, collections: collections.total })
  }`

const overviewLayer = Layer.unwrap(Effect.gen(function*() {
  const administration = yield* Administration
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.overview,
    isForAdmins: true,
    show: () =>
      Effect.map(lists(administration.overview), (overview) => ({
        title: "Administration",
        body: overviewBody(overview)
      }))
  })
}))

const userItem = (user: AdminUser, root: string) =>
  html`<li><div><strong>${user.name}</strong> <a href="${root}u/${user.handle}">@${user.handle}</a>
<p class="hint">${user.email}, ${user.role === "admin" ? "administrator, " : ""}made on ${
    day(user.createdAt)
  }, last seen: ${day(user.lastSeenAt)}, ${user.statistics.totalRoutes} routes${
    user.deletionRequestedAt === null ? "" : `. Deletion requested on ${day(user.deletionRequestedAt)}`
  }</p></div>
${
    user.deletionRequestedAt === null
      ? confirmed(
        "Delete",
        html`<p>The account is hidden at once and erased after ${
          inWords(GRACE_PERIOD)
        }, unless its owner signs in and keeps it.</p>`,
        hidden("id", user.id),
        button("delete", "Delete", "danger", user.email)
      )
      : undefined
  }</li>\n`

const usersLayer = Layer.unwrap(Effect.gen(function*() {
  const administration = yield* Administration
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.users,
    isForAdmins: true,
    show: Effect.fnUntraced(function*({ query, root, session }) {
      const { limit, offset } = cardPage(query)
      const given = orNull(query.get("q") ?? undefined)
      const search = given === null ? undefined : yield* decodeForm(AdminSearch, given)
      const found = yield* lists(administration.users(session.userId, search, { limit, offset }))
      const filters = given === null ? {} : { q: given }
      return {
        title: "Users",
        body: html`<form class="filters" method="get" action="${root}${
          ACCOUNT_PAGES.users.slice(1)
        }" role="search" aria-label="Users">
${
          input({ name: "q", label: "A part of a name, a handle or an address", type: "search", value: given })
        }<button class="quiet">Find</button>
</form>
<p class="hint">${found.total} ${found.total === 1 ? "account" : "accounts"}</p>
<ul class="rows">${found.items.map((user) => userItem(user, root))}</ul>
${pagesAround(found, { filters, limit, offset }, AROUND)}`
      }
    }),
    actions: {
      delete: {
        endpoint: endpoints.deleteUser,
        run: Effect.fnUntraced(function*({ fields, session }) {
          yield* administration.deleteUser(session.userId, yield* idOf(UserIdFromPath, fields["id"]))
          return done(ACCOUNT_PAGES.users, "requested")
        })
      }
    }
  })
}))

const invitationItem = ({ createdAt, email, expiresAt, id }: PendingInvitation) =>
  html`<li><div><strong>${email}</strong>
<p class="hint">Invited on ${day(createdAt)}, kept until ${day(expiresAt)}.</p></div>
${form(hidden("id", id), button("again", "Send again", "quiet", `to ${email}`))}${
    confirmed(
      "Withdraw",
      html`<p>The link that was mailed stops working.</p>`,
      hidden("id", id),
      button("withdraw", "Withdraw", "danger", email)
    )
  }</li>\n`

/** Each costs a mail and an entry of the audit. */
const MAX_INVITED = 50

const addressesIn = (
  text: string | undefined
) => [...new Set((text ?? "").split(/[\s,;]+/).filter((part) => part !== ""))]

const tooMany = () => ValidationFailed.at("body", "emails", `Expected 1 to ${MAX_INVITED} addresses`)

const invitationsLayer = Layer.unwrap(Effect.gen(function*() {
  const invitations = yield* Invitations
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.invitations,
    isForAdmins: true,
    show: Effect.fnUntraced(function*({ fields, query, session }) {
      const { limit, offset } = cardPage(query)
      const found = yield* lists(invitations.list(session.userId, { limit, offset }))
      return {
        title: "Invitations",
        body: html`<h2>Invite</h2>
${
          form(
            textarea({
              name: "emails",
              label: "Email addresses",
              value: fields["emails"],
              required: true,
              hint: `Up to ${MAX_INVITED}, one a line. Each gets a mail with a link, which works for ${
                inWords(INVITATION_LIFETIME)
              }.`
            }),
            button("invite", "Invite")
          )
        }<h2>Not used yet</h2>
${
          found.items.length === 0
            ? html`<p>There are none.</p>`
            : html`<ul class="rows">${found.items.map(invitationItem)}</ul>`
        }
${pagesAround(found, { limit, offset }, AROUND)}`
      }
    }),
    actions: {
      invite: {
        endpoint: endpoints.invite,
        run: Effect.fnUntraced(function*({ fields, session }) {
          const given = addressesIn(fields["emails"])
          if (given.length === 0 || given.length > MAX_INVITED) return yield* tooMany()
          const results = yield* Effect.forEach(
            given,
            (address) =>
              Effect.flatMap(
                decodeForm(NewEmail, address),
                (email) => worded(invitations.invite(session.userId, email))
              )
                .pipe(Effect.match({
                  onFailure: ({ message }) => `${address}: ${message}`,
                  onSuccess: () => undefined
                }))
          )
          const problems = results.filter((problem) => problem !== undefined)
          return problems.length === 0
            ? done(ACCOUNT_PAGES.invitations, "invited")
            : yield* ValidationFailed.at(
              "body",
              "emails",
              `${given.length - problems.length} invited. ${problems.join("; ")}`
            )
        })
      },
      again: {
        endpoint: endpoints.invite,
        run: Effect.fnUntraced(function*({ fields, session }) {
          yield* invitations.mailAgain(session.userId, yield* idOf(SignUpIdFromPath, fields["id"]))
          return done(ACCOUNT_PAGES.invitations, "invited")
        })
      },
      withdraw: {
        endpoint: endpoints.invite,
        run: Effect.fnUntraced(function*({ fields, session }) {
          yield* invitations.withdraw(session.userId, yield* idOf(SignUpIdFromPath, fields["id"]))
          return done(ACCOUNT_PAGES.invitations, "withdrawn")
        })
      }
    }
  })
}))

const auditRow = ({ createdAt, event, subjectId, userId }: AuditEntry) =>
  html`<tr><td><time datetime="${createdAt}">${
    createdAt.slice(0, 16).replace("T", " ")
  }</time></td><td>${event}</td><td>${userId ?? ""}</td><td>${subjectId ?? ""}</td></tr>\n`

const auditLayer = Layer.unwrap(Effect.gen(function*() {
  const audit = yield* Audit
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.audit,
    isForAdmins: true,
    show: Effect.fnUntraced(function*({ query, root, session }) {
      const { limit, offset } = cardPage(query)
      const user = orNull(query.get("user") ?? undefined)
      const event = orNull(query.get("event") ?? undefined)
      const filter = {
        ...(user === null ? {} : { userId: yield* decodeForm(UserIdFromPath, user) }),
        ...(event === null ? {} : { event: yield* decodeForm(AuditEvent, event) })
      }
      const found = yield* lists(audit.list(session.userId, filter, { limit, offset }))
      const filters = { ...(user === null ? {} : { user }), ...(event === null ? {} : { event }) }
      return {
        title: "Audit",
        body: html`<form class="filters" method="get" action="${root}${
          ACCOUNT_PAGES.audit.slice(1)
        }" role="search" aria-label="Audit">
${input({ name: "user", label: "Id of a user", value: user })}${
          select({ name: "event", label: "What happened", value: event }, [
            ["", "Anything"],
            ...AuditEvent.literals.map((name) => [name, name] as const)
          ])
        }<button class="quiet">Find</button>
</form>
<div class="table" role="region" aria-label="Entries" tabindex="0"><table>
<thead><tr><th scope="col">Time (UTC)</th><th scope="col">Event</th><th scope="col">User</th><th scope="col">About</th></tr></thead>
<tbody>${found.items.map(auditRow)}</tbody></table></div>
${pagesAround(found, { filters, limit, offset }, AROUND)}`
      }
    })
  })
}))

export const adminPagesLayer = Layer.mergeAll(overviewLayer, usersLayer, invitationsLayer, auditLayer)
