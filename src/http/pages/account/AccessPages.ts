import { Context, Effect, Layer, Stream } from "effect"
import { type HttpServerRequest, Multipart } from "effect/http"
import type { ImportReport } from "../../../schema/Archive.ts"
import { MAX_TOKEN_DAYS, type MintedToken, NewToken, type PersonalAccessToken } from "../../../schema/Credential.ts"
import { ValidationFailed } from "../../../schema/Errors.ts"
import { TokenIdFromPath } from "../../../schema/Ids.ts"
import { DEFAULT_TOKEN_DAYS } from "../../../schema/Limits.ts"
import { MAX_ZONES, type PrivacyZone, PrivacyZones as Zones, ZONE_RADIUS } from "../../../schema/PrivacyZone.ts"
import { inOneLine } from "../../../schema/Text.ts"
import { PersonalAccessTokens } from "../../../services/accounts/Tokens.ts"
import { PrivacyZones } from "../../../services/accounts/Zones.ts"
import { AccountImport } from "../../../services/archive/Import.ts"
import { html } from "../../../services/operations/Html.ts"
import { Api } from "../../api/Api.ts"
import { BodyLimit, ResponseWithin } from "../../api/Requests.ts"
import { bodyStream } from "../../request/RequestBodies.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Page } from "../layout/Layout.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { accountPageLayer, done, idOf, type Visit } from "./AccountPage.ts"
import {
  button,
  confirmed,
  day,
  decodeForm,
  filesForm,
  form,
  hidden,
  input,
  numberOf,
  orNull,
  passwordInput,
  select
} from "./Forms.ts"

const SCOPES = [["read", "Read only"], ["write", "Read and change"]] as const

const tokenItem = ({ createdAt, expiresAt, hint, id, lastUsedAt, name, scope }: PersonalAccessToken) =>
  html`<li><div><strong>${inOneLine(name)}</strong> <span class="hint">...${hint}</span>
<p class="hint">Scope ${scope}, made on ${day(createdAt)}, expires: ${day(expiresAt)}, last used: ${
    day(lastUsedAt)
  }.</p></div>
${form(hidden("id", id), button("revoke", "Revoke", "quiet", inOneLine(name)))}</li>\n`

const mintedWords = ({ name, token }: MintedToken) =>
  html`<div class="notice" role="status"><p>The token <strong>${
    inOneLine(name)
  }</strong> is made. Copy it now: it is shown this once.</p>
<p><label for="minted">Token</label><input id="minted" class="secret" readonly value="${token}"></p></div>\n`

const tokensPage = (tokens: ReadonlyArray<PersonalAccessToken>, fields: Fields, minted?: MintedToken): Page => ({
  title: "Tokens",
  body: html`${
    minted && mintedWords(minted)
  }<p>Personal access tokens let scripts and apps use your account without your password.</p>
${
    tokens.length === 0
      ? html`<p>There are none.</p>`
      : html`<ul class="rows">${tokens.map(tokenItem)}</ul>`
  }
<h2>Make a token</h2>
${
    form(
      input({ name: "name", label: "Name", value: fields["name"], required: true, hint: "What will use it." }),
      html`<div class="columns">`,
      select({ name: "scope", label: "Scope", value: fields["scope"] }, SCOPES),
      input({
        name: "expiresInDays",
        label: "Expires in days",
        type: "number",
        value: fields["expiresInDays"] ?? DEFAULT_TOKEN_DAYS,
        hint: `1 to ${MAX_TOKEN_DAYS}; empty for a token that never expires.`
      }),
      html`</div>\n`,
      passwordInput(
        "currentPassword",
        "Current password",
        "current-password",
        "Only needed for a token that never expires."
      ),
      button("mint", "Make the token")
    )
  }`
})

const tokensLayer = Layer.unwrap(Effect.map(PersonalAccessTokens, (tokens) => {
  const show = ({ fields, session }: Visit, minted?: MintedToken) =>
    Effect.map(tokens.list(session.userId), (all) => tokensPage(all, fields, minted))
  return accountPageLayer({
    path: ACCOUNT_PAGES.tokens,
    show: (visit) => show(visit),
    actions: {
      mint: {
        endpoint: Api.groups.tokens.endpoints.mint,
        run: Effect.fnUntraced(function*(visit) {
          const { currentPassword, expiresInDays, name, scope } = visit.fields
          const given = {
            name,
            scope,
            expiresInDays: numberOf(expiresInDays),
            currentPassword: orNull(currentPassword)
          }
          const minted = yield* tokens.mint(visit.session.userId, yield* decodeForm(NewToken, given))
          return yield* show({ ...visit, fields: {} }, minted)
        })
      },
      revoke: {
        endpoint: Api.groups.tokens.endpoints.revoke,
        run: Effect.fnUntraced(function*({ fields, session }) {
          yield* tokens.revoke(session.userId, yield* idOf(TokenIdFromPath, fields["id"]))
          return done(ACCOUNT_PAGES.tokens, "revoked")
        })
      }
    }
  })
}))

const COORDINATES = /^\s*(-?\d{1,2}(?:\.\d+)?)[\s,;]+(-?\d{1,3}(?:\.\d+)?)\s*$/

/** As map programs have it in the address of a map, such as `#map=15/47.1415/9.5209` or `/@47.1415,9.5209,15z`. */
const IN_ADDRESS = /(?:#map=[\d.]+\/|[/@=:])(-?\d{1,2}\.\d+)[/,](-?\d{1,3}\.\d+)/

const notCoordinates = () =>
  ValidationFailed.at(
    "body",
    "place",
    "Expected latitude and longitude in degrees, such as 47.1415, 9.5209, or the address of a map"
  )

const centerOf = (place: string | undefined) => {
  const found = COORDINATES.exec(place ?? "") ?? IN_ADDRESS.exec(place ?? "")
  return found === null
    ? Effect.fail(notCoordinates())
    : Effect.succeed([Number(found[2]), Number(found[1])] as const)
}

const zoneName = ({ label }: PrivacyZone, index: number) => label ?? `Zone ${index + 1}`

const zoneItem = (zone: PrivacyZone, index: number) => {
  const [longitude = 0, latitude = 0] = zone.center
  return html`<li><div><strong>${zoneName(zone, index)}</strong>
<p class="hint">${zone.radius} m around ${latitude}, ${longitude}</p></div>
${
    confirmed(
      "Remove",
      html`<p>Others will see what it hides, in all of your routes.</p>`,
      hidden("index", index),
      hidden("longitude", longitude),
      hidden("latitude", latitude),
      button("remove", "Remove", "danger", zoneName(zone, index))
    )
  }</li>\n`
}

const zonesLayer = Layer.unwrap(Effect.map(PrivacyZones, (zones) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.zones,
    show: Effect.fnUntraced(function*({ fields, session }) {
      const all = yield* zones.list(session.userId)
      return {
        title: "Privacy zones",
        body:
          html`<p>Others do not see the parts of your routes in these circles, such as around your home. You may have ${MAX_ZONES}.</p>
${all.length === 0 ? html`<p>There are none.</p>` : html`<ul class="rows">${all.map(zoneItem)}</ul>`}
<h2>Add a zone</h2>
${
            form(
              input({ name: "label", label: "Name", value: fields["label"], hint: "For you alone." }),
              input({
                name: "place",
                label: "Middle",
                value: fields["place"],
                required: true,
                hint: "Latitude and longitude, such as 47.1415, 9.5209, or the address of a map that shows the place."
              }),
              input({
                name: "radius",
                label: "Radius in metres",
                type: "number",
                step: "any",
                value: fields["radius"] ?? 500,
                required: true,
                hint: `${ZONE_RADIUS.minimum} to ${ZONE_RADIUS.maximum}.`
              }),
              button("add", "Add the zone")
            )
          }`
      }
    }),
    actions: {
      add: {
        endpoint: Api.groups.users.endpoints.setPrivacyZones,
        run: Effect.fnUntraced(function*({ fields, session }) {
          const center = yield* centerOf(fields["place"])
          const zone = { center, radius: numberOf(fields["radius"]), label: orNull(fields["label"]) }
          const { zones: added } = yield* decodeForm(Zones, { zones: [zone] })
          yield* zones.add(session.userId, added)
          return done(ACCOUNT_PAGES.zones, "saved")
        })
      },
      remove: {
        endpoint: Api.groups.users.endpoints.setPrivacyZones,
        run: Effect.fnUntraced(function*({ fields, session }) {
          const center = [Number(fields["longitude"]), Number(fields["latitude"])] as const
          yield* zones.remove(session.userId, Number(fields["index"]), center)
          return done(ACCOUNT_PAGES.zones, "saved")
        })
      }
    }
  })))

const noArchive = () => ValidationFailed.at("body", "archive", "Expected the file of an export")

const { export: exported, import: imported } = Api.groups.accountData.endpoints

/** The bytes of the first file of a form, while they arrive. */
const firstFile = (request: HttpServerRequest.HttpServerRequest) =>
  bodyStream(request, Context.get(imported.annotations, BodyLimit)).pipe(
    Stream.pipeThroughChannel(Multipart.makeChannel(request.headers)),
    Stream.filter(Multipart.isFile),
    Stream.take(1),
    Stream.flatMap(({ content }) => content),
    Stream.catchTag("MultipartError", () => Stream.fail(noArchive()))
  )

const counted = (name: string, { created, restored, unchanged }: ImportReport["collections"]) =>
  html`<div><dt>${name}</dt><dd>${created} new, ${restored} restored, ${unchanged} as before</dd></div>\n`

const reportPage = ({ collections, routes }: ImportReport): Page => ({
  title: "Imported",
  body: html`<p class="notice" role="status">The archive is imported.</p>
<dl>${counted("Routes", routes)}${counted("Collections", collections)}</dl>`
})

const dataLayer = Layer.unwrap(Effect.map(AccountImport, (imports) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.data,
    show: ({ root }) =>
      Effect.succeed({
        title: "Export and import",
        body: html`<h2>Export</h2>
<p>All that your account has, as one ZIP archive: routes, also as GPX, collections, profile.</p>
<p><a class="button" href="${root}${exported.path.slice(1)}" download>Export the account</a></p>
<h2>Import</h2>
<p>An archive of an export, of this account or another one. What is here already stays as it is.</p>
${
          filesForm(
            html`<div><label for="archive">Archive</label>\n<input type="file" id="archive" name="archive" accept=".zip,application/zip" required></div>\n`,
            html`<button type="submit">Import the archive</button>`
          )
        }`
      }),
    receive: {
      endpoint: imported,
      deadline: Context.get(imported.annotations, ResponseWithin),
      run: Effect.fnUntraced(function*({ session }, request) {
        return reportPage(yield* imports.restore(session.userId, firstFile(request)))
      })
    }
  })))

export const accessPagesLayer = Layer.mergeAll(tokensLayer, zonesLayer, dataLayer)
