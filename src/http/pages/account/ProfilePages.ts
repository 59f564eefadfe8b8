import { Effect, Layer, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Session } from "../../../schema/Credential.ts"
import { SessionIdFromPath } from "../../../schema/Ids.ts"
import { GRACE_PERIOD, inWords } from "../../../schema/Limits.ts"
import { PasswordAttempt, type Profile, ProfilePatch } from "../../../schema/User.ts"
import { AccountDeletion } from "../../../services/accounts/Deletion.ts"
import { Devices } from "../../../services/accounts/Devices.ts"
import { PasswordChanges } from "../../../services/accounts/PasswordChanges.ts"
import { Profiles } from "../../../services/accounts/Profile.ts"
import { Sessions } from "../../../services/accounts/Sessions.ts"
import { html } from "../../../services/operations/Html.ts"
import { Api } from "../../api/Api.ts"
import { DEVICE_COOKIE } from "../../api/Authentication.ts"
import { setDeviceCookie, signResponseOut } from "../../auth/Credentials.ts"
import { changeResponse } from "../../request/ResponseChange.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Page } from "../layout/Layout.ts"
import { newPasswordInput, newPasswordOf } from "../layout/LinkForm.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { accountPageLayer, done, idOf, type Visit } from "./AccountPage.ts"
import {
  ACTIVITIES,
  button,
  confirmed,
  day,
  decodeForm,
  form,
  hidden,
  input,
  numberOf,
  orNull,
  passwordInput,
  select,
  VISIBILITIES
} from "./Forms.ts"

const { users, sessions: sessionsApi } = Api.groups

const CurrentPassword = Schema.RedactedFromValue(PasswordAttempt)

const AS_IT_COMES = ["", "No preference"] as const

const SPEEDS = ["cycle", "run", "walk"] as const

const quotaText = ({ usage: { collections, routes, storedBytes } }: Profile) =>
  `${routes.used} of ${routes.limit} routes, ${collections.used} of ${collections.limit} collections, `
  + `${Math.ceil(storedBytes.used / 1_048_576)} of ${Math.floor(storedBytes.limit / 1_048_576)} MiB`

const profilePage = (profile: Profile, fields: Fields, root: string): Page => {
  const { preferences } = profile
  const given = (name: string, stored: string | number | null | undefined) => fields[name] ?? stored
  return {
    title: "Profile",
    body:
      html`<p>Signed in as <strong>${profile.email}</strong>. Your public page is <a href="${root}u/${profile.handle}">@${profile.handle}</a>.</p>
${
        form(
          input({ name: "name", label: "Name", value: given("name", profile.name), required: true }),
          input({
            name: "handle",
            label: "Handle",
            value: given("handle", profile.handle),
            required: true,
            hint: "The address of your public page: 3 to 30 characters of a-z, 0-9 and \"-\"."
          }),
          input({
            name: "avatar",
            label: "Picture",
            type: "url",
            value: given("avatar", profile.avatar),
            hint: "The https address of an image, or nothing."
          }),
          html`<fieldset><legend>Preferences</legend>\n<div class="columns">`,
          select({ name: "units", label: "Units", value: given("units", preferences?.units) }, [AS_IT_COMES, [
            "metric",
            "Kilometres and metres"
          ], ["imperial", "Miles and feet"]]),
          select(
            {
              name: "defaultActivity",
              label: "Activity",
              value: given("defaultActivity", preferences?.defaultActivity)
            },
            [AS_IT_COMES, ...ACTIVITIES]
          ),
          select({
            name: "defaultRouteVisibility",
            label: "Who sees a new route",
            value: given("defaultRouteVisibility", preferences?.defaultRouteVisibility ?? "private")
          }, VISIBILITIES),
          html`</div>\n<div class="columns">`,
          ...ACTIVITIES.map(([activity, text]) =>
            input({
              name: `speed-${activity}`,
              label: `${text}: usual km/h`,
              type: "number",
              step: "any",
              value: given(`speed-${activity}`, preferences?.sportSpeeds?.[activity])
            })
          ),
          html`</div></fieldset>\n`,
          button("save", "Save")
        )
      }<p class="hint">Your account has ${quotaText(profile)}.</p>`
  }
}

const patchOf = (fields: Fields) => ({
  name: fields["name"],
  handle: fields["handle"],
  avatar: orNull(fields["avatar"]),
  preferences: {
    units: orNull(fields["units"]),
    defaultActivity: orNull(fields["defaultActivity"]),
    defaultRouteVisibility: orNull(fields["defaultRouteVisibility"]),
    sportSpeeds: Object.fromEntries(SPEEDS.map((activity) => [activity, numberOf(fields[`speed-${activity}`])]))
  }
})

const profileLayer = Layer.unwrap(Effect.map(Profiles, (profiles) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.profile,
    show: ({ fields, root, session }) =>
      Effect.map(profiles.profile(session.userId), (profile) => profilePage(profile, fields, root)),
    actions: {
      save: {
        endpoint: users.endpoints.update,
        run: Effect.fnUntraced(function*({ fields, session }) {
          yield* profiles.update(session.userId, yield* decodeForm(ProfilePatch, patchOf(fields)))
          return done(ACCOUNT_PAGES.profile, "saved")
        })
      }
    }
  })))

const sessionItem = ({ createdAt, current, id, ipAddress, lastSeenAt, userAgent }: Session) =>
  html`<li><div><strong>${userAgent ?? "An unknown program"}</strong>
<p class="hint">${current ? "This browser. " : ""}Signed in on ${day(createdAt)}, last used on ${day(lastSeenAt)}${
    ipAddress === null ? "" : ` from ${ipAddress}`
  }.</p></div>
${form(hidden("id", id), button("revoke", "Sign out", "quiet", `of ${userAgent ?? "an unknown program"}`))}</li>\n`

const sessionsLayer = Layer.unwrap(Effect.map(Sessions, (sessions) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.sessions,
    show: Effect.fnUntraced(function*({ session: { sessionId, userId } }) {
      const all = yield* sessions.list(userId, sessionId)
      return {
        title: "Sessions",
        body: html`<p>Where you are signed in. End what you do not know.</p>
<ul class="rows">${all.map(sessionItem)}</ul>
${
          confirmed(
            "Sign out everywhere",
            html`<p>This browser is signed out too.</p>`,
            button("all", "Sign out everywhere", "danger")
          )
        }`
      }
    }),
    actions: {
      revoke: {
        endpoint: sessionsApi.endpoints.revoke,
        run: Effect.fnUntraced(function*({ fields, session: { sessionId, userId } }) {
          const id = yield* idOf(SessionIdFromPath, fields["id"])
          yield* sessions.revoke(userId, id)
          if (id !== sessionId) return done(ACCOUNT_PAGES.sessions, "revoked")
          yield* signResponseOut
          return { seeOther: "" }
        })
      },
      all: {
        endpoint: sessionsApi.endpoints.logOutEverywhere,
        run: Effect.fnUntraced(function*({ session: { userId } }) {
          yield* sessions.revokeAll(userId)
          yield* signResponseOut
          return { seeOther: "" }
        })
      }
    }
  })))

const passwordLayer = Layer.unwrap(Effect.gen(function*() {
  const changes = yield* PasswordChanges
  const devices = yield* Devices
  const profiles = yield* Profiles

  const change = Effect.fnUntraced(function*({ fields, session }: Visit) {
    const newPassword = yield* newPasswordOf(fields["newPassword"])
    const current = orNull(fields["currentPassword"])
    const currentPassword = current === null ? undefined : yield* decodeForm(CurrentPassword, current)
    yield* changes.change(session, { currentPassword, newPassword })
    // A new password removes all remembered devices, so the current one is stored again.
    const { cookies } = yield* HttpServerRequest.HttpServerRequest
    if (cookies[DEVICE_COOKIE] !== undefined) {
      yield* changeResponse(setDeviceCookie(yield* devices.remember(session.userId)))
    }
    return done(ACCOUNT_PAGES.password, "saved")
  })

  return accountPageLayer({
    path: ACCOUNT_PAGES.password,
    show: ({ session }) =>
      Effect.map(profiles.user(session.userId), ({ hasPassword }) => ({
        title: "Password",
        isWide: true,
        body: html`<p>A new password signs you out everywhere else. Personal access tokens go on.</p>
${
          form(
            hasPassword ? passwordInput("currentPassword", "Current password", "current-password") : html``,
            newPasswordInput("newPassword"),
            button("change", "Change the password")
          )
        }`
      })),
    actions: { change: { endpoint: users.endpoints.changePassword, run: change } }
  })
}))

const deletionLayer = Layer.unwrap(Effect.map(AccountDeletion, (deletion) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.deletion,
    show: ({ root }) =>
      Effect.succeed({
        title: "Delete account",
        body:
          html`<p>Your routes, collections and links are hidden from everyone at once, tokens stop, and you are signed out
everywhere. For ${
            inWords(GRACE_PERIOD)
          } you can sign in and keep the account after all. Then it is erased with all that it has.</p>
<p>Take your routes along first: <a href="${root}${ACCOUNT_PAGES.data.slice(1)}">export the account</a>.</p>
${
            confirmed(
              "Delete my account",
              html`<p>This hides everything that you shared.</p>`,
              button("delete", "Delete my account", "danger")
            )
          }`
      }),
    actions: {
      delete: {
        endpoint: users.endpoints.requestDeletion,
        run: Effect.fnUntraced(function*({ session }) {
          yield* Effect.orDie(deletion.request(session.userId))
          yield* signResponseOut
          return { seeOther: "me/cancel-deletion" }
        })
      }
    }
  })))

export const profilePagesLayer = Layer.mergeAll(profileLayer, sessionsLayer, passwordLayer, deletionLayer)
