import { Effect, Layer } from "effect"
import { type MintedToken, NewToken, type PersonalAccessToken } from "../../../schema/Credential.ts"
import { ValidationFailed } from "../../../schema/Errors.ts"
import { TokenIdFromPath } from "../../../schema/Ids.ts"
import { DEFAULT_TOKEN_DAYS } from "../../../schema/Limits.ts"
import { type PrivacyZone, PrivacyZones as Zones } from "../../../schema/PrivacyZone.ts"
import { inOneLine } from "../../../schema/Text.ts"
import { PersonalAccessTokens } from "../../../services/accounts/Tokens.ts"
import { PrivacyZones } from "../../../services/accounts/Zones.ts"
import { html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Page } from "../layout/Layout.ts"
import { accountPageLayer, action, done, idOf, type Visit } from "./AccountPage.ts"
import { button, confirmed, copyField, decodeForm, fieldsOf, form, hidden, numberOf, orNull, rows } from "./Forms.ts"

const tokenItem = ({ tokens }: Texts) => (token: PersonalAccessToken) =>
  html`<li><div><strong>${inOneLine(token.name)}</strong> <span class="hint">...${token.hint}</span>
<p class="hint">${tokens.facts(token)}</p></div>
${form(hidden("id", token.id), button("revoke", tokens.revoke, "quiet", inOneLine(token.name)))}</li>\n`

const mintedWords = (texts: Texts, { name, token }: MintedToken) =>
  html`<div class="notice" role="status"><p>${texts.tokens.minted(html`<strong>${inOneLine(name)}</strong>`)}</p>
${copyField(texts, "minted", texts.tokens.token, token)}</div>\n`

const tokensPage = (
  all: ReadonlyArray<PersonalAccessToken>,
  { fields: given, refusal, texts }: Visit,
  minted?: MintedToken
): Page => {
  const { tokens } = texts
  const { input, password, select } = fieldsOf(texts, { expiresInDays: DEFAULT_TOKEN_DAYS, ...given }, refusal)
  return {
    title: tokens.title,
    body: html`${minted && mintedWords(texts, minted)}<p>${tokens.lead}</p>
${rows(texts, all, tokenItem(texts))}
<h2>${tokens.make}</h2>
${
      form(
        input("name", { required: true, hint: tokens.nameHint }),
        html`<div class="columns">`,
        select("scope", Object.entries(tokens.scopes)),
        input("expiresInDays", { type: "number", hint: tokens.daysHint }),
        html`</div>\n`,
        password("currentPassword", { autocomplete: "current-password", hint: tokens.passwordHint }),
        button("mint", tokens.mint)
      )
    }`
  }
}

const tokensLayer = Layer.unwrap(Effect.map(PersonalAccessTokens, (tokens) => {
  const show = (visit: Visit, minted?: MintedToken) =>
    Effect.map(tokens.list(visit.session.userId), (all) => tokensPage(all, visit, minted))
  return accountPageLayer({
    path: ACCOUNT_PAGES.tokens,
    show: (visit) => show(visit),
    actions: {
      mint: action(Api.groups.tokens.endpoints.mint, function*(visit) {
        const { currentPassword, expiresInDays, name, scope } = visit.fields
        const given = {
          name,
          scope,
          expiresInDays: numberOf(expiresInDays),
          currentPassword: orNull(currentPassword)
        }
        const minted = yield* tokens.mint(visit.session.userId, yield* decodeForm(NewToken, given))
        return yield* show({ ...visit, fields: {} }, minted)
      }),
      revoke: action(Api.groups.tokens.endpoints.revoke, function*({ fields, session }) {
        yield* tokens.revoke(session.userId, yield* idOf(TokenIdFromPath, fields["id"]))
        return done(ACCOUNT_PAGES.tokens, "revoked")
      })
    }
  })
}))

const COORDINATES = /^\s*(-?\d{1,2}(?:\.\d+)?)[\s,;]+(-?\d{1,3}(?:\.\d+)?)\s*$/

/** Google Maps and OpenStreetMap have a marked place like this, beside the middle of what they show. */
const MARKED = /(?:!3d|[?&]mlat=)(-?\d{1,2}(?:\.\d+)?)(?:!4d|&mlon=)(-?\d{1,3}(?:\.\d+)?)/

/** Addresses of maps have a position like this: `#map=15/47.1415/9.5209`, `/@47.1415,9.5209,15z`. */
const IN_ADDRESS = /(?:#map=[\d.]+\/|[/@=:])(-?\d{1,2}\.\d+)[/,](-?\d{1,3}\.\d+)/

const notCoordinates = ({ zones }: Texts) => ValidationFailed.at("body", "", zones.wrongPlace)

const centerOf = (place: string | undefined, texts: Texts) => {
  const given = place ?? ""
  const found = COORDINATES.exec(given) ?? MARKED.exec(given) ?? IN_ADDRESS.exec(given)
  const [, latitude, longitude] = (found ?? []).map(Number)
  return latitude === undefined || longitude === undefined || Math.abs(latitude) > 90 || Math.abs(longitude) > 180
    ? Effect.fail(notCoordinates(texts))
    : Effect.succeed([longitude, latitude] as const)
}

const zoneName = ({ zones }: Texts, { label }: PrivacyZone, index: number) => label ?? zones.unnamed(index + 1)

const zoneItem = (texts: Texts) => (zone: PrivacyZone, index: number) => {
  const { zones } = texts
  const [longitude, latitude] = zone.center
  return html`<li><div><strong>${zoneName(texts, zone, index)}</strong>
<p class="hint">${zones.around(zone.radius, latitude, longitude)}</p></div>
${
    confirmed(
      zones.remove,
      zones.removeWords,
      hidden("index", index),
      hidden("longitude", longitude),
      hidden("latitude", latitude),
      button("remove", zones.remove, "danger", zoneName(texts, zone, index))
    )
  }</li>\n`
}

const zonesLayer = Layer.unwrap(Effect.map(PrivacyZones, (zones) =>
  accountPageLayer({
    path: ACCOUNT_PAGES.zones,
    show: Effect.fnUntraced(function*({ fields: given, refusal, session, texts }) {
      const words = texts.zones
      const { input } = fieldsOf(texts, { radius: 500, ...given }, refusal, "place")
      const all = yield* zones.list(session.userId)
      return {
        title: words.title,
        body: html`<p>${words.lead}</p>
${rows(texts, all, zoneItem(texts))}
<h2>${words.add}</h2>
${
          form(
            input("label", { hint: words.labelHint }),
            input("place", { required: true, hint: words.placeHint }),
            input("radius", { type: "number", step: "any", required: true, hint: words.radiusHint }),
            button("add", words.addButton)
          )
        }`
      }
    }),
    actions: {
      add: action(Api.groups.users.endpoints.setPrivacyZones, function*({ fields, session, texts }) {
        const center = yield* centerOf(fields["place"], texts)
        const zone = { center, radius: numberOf(fields["radius"]), label: orNull(fields["label"]) }
        const { zones: added } = yield* decodeForm(Zones, { zones: [zone] })
        yield* zones.add(session.userId, added, { renames: true })
        return done(ACCOUNT_PAGES.zones, "saved")
      }),
      remove: action(Api.groups.users.endpoints.setPrivacyZones, function*({ fields, session }) {
        const center = [Number(fields["longitude"]), Number(fields["latitude"])] as const
        yield* zones.remove(session.userId, Number(fields["index"]), center)
        return done(ACCOUNT_PAGES.zones, "saved")
      })
    }
  })))

export const accessPagesLayer = Layer.mergeAll(tokensLayer, zonesLayer)
