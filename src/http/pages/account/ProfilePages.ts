import { Effect, Layer, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { crc32 } from "node:zlib"
import type { Session } from "../../../schema/Credential.ts"
import { SessionIdFromPath } from "../../../schema/Ids.ts"
import { PasswordAttempt, type Profile, ProfilePatch, type User } from "../../../schema/User.ts"
import { AccountDeletion } from "../../../services/accounts/Deletion.ts"
import { PasswordChanges } from "../../../services/accounts/PasswordChanges.ts"
import { Profiles } from "../../../services/accounts/Profile.ts"
import { Devices, Sessions } from "../../../services/accounts/Sessions.ts"
import { html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { DEVICE_COOKIE } from "../../api/Access.ts"
import { Api } from "../../api/Api.ts"
import { setDeviceCookie, signResponseOut } from "../../auth/Credentials.ts"
import { changeResponse } from "../../request/ResponseChange.ts"
import { ACCOUNT_PAGES, PAGES } from "../../request/RouteTemplates.ts"
import type { Page } from "../layout/Layout.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { newPasswordInput, newPasswordOf } from "../layout/SignInForm.ts"
import { avatarImage, avatarPolicy } from "../shared/Avatar.ts"
import { accountPageLayer, action, done, idOf, type Visit } from "./AccountPage.ts"
import {
  button,
  changedMeanwhile,
  confirmed,
  decodeForm,
  decodeNamed,
  expectedIn,
  fieldsOf,
  form,
  hidden,
  numberOf,
  orNull,
  versionField
} from "./Forms.ts"

const { users, sessions: sessionsApi } = Api.groups

const CurrentPassword = Schema.RedactedFromValue(PasswordAttempt)

const SPEEDS = ["cycle", "run", "walk"] as const

/** Another program may have stored a value that this page does not know: saving the page keeps it. */
const withStored = (
  options: ReadonlyArray<readonly [value: string, text: string]>,
  stored: string | undefined
): typeof options =>
  stored === undefined || options.some(([value]) => value === stored) ? options : [...options, [stored, stored]]

const versionOf = ({ avatar, handle, name, preferences }: User) =>
  crc32(JSON.stringify([avatar, handle, name, preferences]))

const profilePage = ({ fields, refusal, root, texts }: Visit, own: Profile): Page => {
  const { preferences } = own
  const { activities, common, profile, visibilities } = texts
  const { defaultActivity, defaultRouteVisibility = "private", sportSpeeds, units } = preferences ?? {}
  const { avatar, handle, name } = own
  const stored = { avatar, handle, name, units, defaultActivity, defaultRouteVisibility }
  const { input, select } = fieldsOf(texts, { ...stored, ...fields }, refusal)
  const any = ["", profile.anyPreference] as const
  return {
    title: profile.title,
    policy: avatarPolicy(own.avatar),
    body: html`${avatarImage(own.avatar)}<p>${
      profile.signedIn(
        html`<strong>${own.email}</strong>`,
        html`<a href="${root}u/${own.handle}">@${own.handle}</a>`
      )
    }</p>
${
      form(
        versionField(fields, refusal, versionOf(own)),
        input("name", { required: true }),
        input("handle", { required: true, hint: profile.handleHint }),
        input("avatar", { type: "url", hint: profile.avatarHint }),
        html`<fieldset><legend>${profile.preferences}</legend>\n<div class="columns">`,
        select("units", withStored([any, ...Object.entries(profile.units)], units)),
        select("defaultActivity", withStored([any, ...Object.entries(activities)], defaultActivity)),
        select("defaultRouteVisibility", Object.entries(visibilities)),
        html`</div>\n<div class="columns">`,
        ...SPEEDS.map((activity) => {
          const name = `speed-${activity}`
          return input(activity, { name, type: "number", step: "any", value: fields[name] ?? sportSpeeds?.[activity] })
        }),
        html`</div></fieldset>\n`,
        button("save", common.save)
      )
    }<p class="hint">${profile.usage(own.usage)}</p>`
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
    show: (visit) => Effect.map(profiles.profile(visit.session.userId), (profile) => profilePage(visit, profile)),
    actions: {
      save: action(users.endpoints.update, function*({ fields, session }) {
        const patch = yield* decodeForm(ProfilePatch, patchOf(fields))
        const stored = versionOf(yield* profiles.user(session.userId))
        if (expectedIn(fields)?.some(({ version }) => version !== stored)) return yield* changedMeanwhile()
        yield* profiles.update(session.userId, patch)
        return done(ACCOUNT_PAGES.profile, "saved")
      })
    }
  })))

/** The first name that is found is the browser's: a browser also passes itself off as the ones below it. */
const BROWSERS = {
  Firefox: "Firefox",
  FxiOS: "Firefox",
  Edg: "Edge",
  OPR: "Opera",
  CriOS: "Chrome",
  Chrome: "Chrome",
  Safari: "Safari"
}

const SYSTEMS = {
  Windows: "Windows",
  Android: "Android",
  iPhone: "iPhone",
  iPad: "iPad",
  Macintosh: "macOS",
  CrOS: "ChromeOS",
  Linux: "Linux"
}

const namedIn = (userAgent: string, names: Readonly<Record<string, string>>) =>
  Object.entries(names).find(([mark]) => userAgent.includes(mark))?.[1]

/** Names a browser and its system, and any other program as it calls itself. */
const programOf = (userAgent: string): string => {
  const browser = namedIn(userAgent, BROWSERS)
  return browser === undefined ? userAgent : [browser, namedIn(userAgent, SYSTEMS)].filter(Boolean).join(", ")
}

const sessionItem = ({ sessions }: Texts) => (session: Session) => {
  const program = session.userAgent === null ? sessions.unknown : programOf(session.userAgent)
  return html`<li><div><strong>${program}</strong>
<p class="hint">${sessions.facts(session)}</p></div>
${form(hidden("id", session.id), button("revoke", sessions.signOut, "quiet", program))}</li>\n`
}

const sessionsLayer = Layer.unwrap(Effect.map(Sessions, (sessions) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.sessions,
    show: Effect.fnUntraced(function*({ session: { sessionId, userId }, texts }) {
      const words = texts.sessions
      const all = yield* sessions.list(userId, sessionId)
      return {
        title: words.title,
        body: html`<p>${words.lead}</p>
<ul class="rows">${all.map(sessionItem(texts))}</ul>
${confirmed(words.everywhere, words.everywhereWords, button("all", words.everywhere, "danger"))}`
      }
    }),
    actions: {
      revoke: action(sessionsApi.endpoints.revoke, function*({ fields, session: { sessionId, userId } }) {
        const id = yield* idOf(SessionIdFromPath, fields["id"])
        yield* sessions.revoke(userId, id)
        if (id !== sessionId) return done(ACCOUNT_PAGES.sessions, "revoked")
        yield* signResponseOut
        return { seeOther: "" }
      }),
      all: action(sessionsApi.endpoints.logOutEverywhere, function*({ session: { userId } }) {
        yield* sessions.revokeAll(userId)
        yield* signResponseOut
        return { seeOther: "" }
      })
    }
  })))

const passwordLayer = Layer.unwrap(Effect.gen(function*() {
  const changes = yield* PasswordChanges
  const devices = yield* Devices
  const profiles = yield* Profiles

  return accountPageLayer({
    path: ACCOUNT_PAGES.password,
    show: ({ refusal, session, texts }) =>
      Effect.map(profiles.user(session.userId), ({ hasPassword }) => ({
        title: texts.password.title,
        body: html`<p>${texts.password.lead}</p>
${
          form(
            hasPassword
              ? fieldsOf(texts, {}, refusal).password("currentPassword", { autocomplete: "current-password" })
              : html``,
            newPasswordInput(texts, "newPassword", refusal),
            button("change", texts.password.button)
          )
        }`
      })),
    actions: {
      change: action(users.endpoints.changePassword, function*({ fields, session }) {
        const newPassword = yield* newPasswordOf(fields["newPassword"], "newPassword")
        const current = orNull(fields["currentPassword"])
        const currentPassword = current === null
          ? undefined
          : yield* decodeNamed(CurrentPassword, "currentPassword", current)
        yield* changes.change(session, { currentPassword, newPassword })
        // A new password removes all remembered devices, so the current one is stored again.
        const { cookies } = yield* HttpServerRequest.HttpServerRequest
        if (cookies[DEVICE_COOKIE] !== undefined) {
          yield* changeResponse(setDeviceCookie(yield* devices.remember(session.userId)))
        }
        return done(ACCOUNT_PAGES.password, "saved")
      })
    }
  })
}))

const deletionLayer = Layer.unwrap(Effect.gen(function*() {
  const deletion = yield* AccountDeletion
  const profiles = yield* Profiles
  return accountPageLayer({
    path: ACCOUNT_PAGES.deletion,
    show: ({ root, session, texts: { deletion: words } }) =>
      Effect.map(profiles.user(session.userId), ({ email }) => ({
        title: words.title,
        body: html`<p>${words.lead}</p>
<p>${words.exportFirst(`${root}${ACCOUNT_PAGES.data.slice(1)}`)}</p>
${
          confirmed(
            words.button,
            words.words(html`<strong>${email}</strong>`),
            button("delete", words.button, "danger")
          )
        }`
      })),
    actions: {
      delete: action(users.endpoints.requestDeletion, function*({ session }) {
        yield* Effect.orDie(deletion.request(session.userId))
        yield* signResponseOut
        return done(PAGES.cancelDeletion, "requested")
      })
    }
  })
}))

export const profilePagesLayer = Layer.mergeAll(profileLayer, sessionsLayer, passwordLayer, deletionLayer)
