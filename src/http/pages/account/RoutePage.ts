import { Effect, Layer, Option } from "effect"
import { RouteIdFromPath } from "../../../schema/Ids.ts"
import { RoutePatch, type StoredRoute } from "../../../schema/Route.ts"
import { Missing } from "../../../services/DomainErrors.ts"
import { html } from "../../../services/operations/Html.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { attribution, downloads, facts, hasProfile, picture } from "../shared/RouteParts.ts"
import type { Units } from "../shared/Units.ts"
import { accountPageLayer, action, done, idOf, type Visit } from "./AccountPage.ts"
import {
  ACTION,
  button,
  changedMeanwhile,
  checkbox,
  confirmed,
  decodeForm,
  describedBy,
  expectedIn,
  fieldsOf,
  form,
  isChecked,
  orNull,
  versionField
} from "./Forms.ts"
import { makeSharing } from "./Sharing.ts"

const shotsIn = (units: Units) => ({
  wide: { width: 960, height: 480, profile: hasProfile(units) },
  narrow: { width: 400, height: 440, profile: hasProfile(units) }
})

const tagsOf = (text: string | undefined) =>
  (text ?? "").split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")

const editForm = ({ fields: sent, refusal, texts }: Visit, route: StoredRoute) => {
  const { activities, common, route: words, visibilities } = texts
  const isRefused = sent[ACTION] === "save"
  const { activity, description, name, tags, visibility } = route
  const stored = { activity, description, name, tags: tags.join(", "), visibility }
  const { input, select, textarea } = fieldsOf(texts, isRefused ? sent : stored, isRefused ? refusal : undefined)
  return form(
    versionField(sent, refusal, route.version),
    input("name", { required: true }),
    textarea("description"),
    input("tags", { hint: words.tagsHint }),
    html`<div class="columns">`,
    select("activity", [["", words.noActivity], ...Object.entries(activities)]),
    select("visibility", Object.entries(visibilities)),
    html`</div>\n`,
    checkbox("favourite", words.favourite, isRefused ? isChecked(sent, "favourite") : route.favourite),
    button("save", common.save)
  )
}

const pathOf = ({ params }: Visit) => `${ACCOUNT_PAGES.routes}/${params["id"]}`

const requireId = ({ params }: Visit) => idOf(RouteIdFromPath, params["id"])

const patchOf = (fields: Fields, stored: StoredRoute) => ({
  ...describedBy(fields, stored),
  tags: tagsOf(fields["tags"]),
  activity: orNull(fields["activity"]),
  visibility: fields["visibility"],
  favourite: isChecked(fields, "favourite")
})

/** The owner changes a route here; `/r/{id}` shows it as others see it. */
export const routePageOfOwnerLayer = Layer.unwrap(Effect.gen(function*() {
  const routes = yield* Routes
  const sharing = yield* makeSharing
  const { routes: { endpoints: { remove, update } }, links } = Api.groups

  const own = Effect.fnUntraced(function*(visit: Visit) {
    const { userId } = visit.session
    const route = yield* routes.get(yield* requireId(visit), Option.some(userId), "none")
    return route.user.id === userId ? route : yield* new Missing({ kind: "route" })
  })

  const show = Effect.fnUntraced(function*(visit: Visit) {
    const { root, texts } = visit
    const units = yield* visit.units
    const words = texts.route
    const route = yield* own(visit)
    const alt = hasProfile(units) ? words.lineAndProfile(route.name) : texts.shared.lineOf(route.name)
    return {
      title: route.name,
      body: html`<figure>${picture(String(route.id), shotsIn(units), alt, root)}</figure>
${facts(route, texts, units)}
<p><a href="${root}r/${route.visibility === "private" ? route.id : route.shareToken}">${words.seePage}</a></p>
<h2>${words.change}</h2>
${editForm(visit, route)}${yield* sharing.section(
        visit,
        { kind: "route", id: route.id },
        route
      )}<div data-late="${texts.signIn.lateHere}">
${downloads(String(route.id), root, texts)}</div>
<h2>${words.delete}</h2>
${confirmed(words.deleteButton, words.deleteWords, button("delete", words.deleteButton, "danger"))}
${attribution(route, texts)}`
    }
  })

  return accountPageLayer({
    path: ACCOUNT_PAGES.route,
    show,
    actions: {
      ...sharing.actions((visit) => Effect.map(requireId(visit), (id) => ({ kind: "route", id })), pathOf, {
        create: links.endpoints.createForRoute,
        remove: links.endpoints.removeOfRoute,
        replace: links.endpoints.replaceRouteShareToken
      }),
      save: action(update, function*(visit) {
        const { fields, session } = visit
        const { geometry: _, polyline6: __, ...patch } = yield* decodeForm(
          RoutePatch,
          patchOf(fields, yield* own(visit))
        )
        yield* routes.update(session.userId, yield* requireId(visit), patch, expectedIn(fields)).pipe(
          Effect.catchTag("StaleVersion", changedMeanwhile)
        )
        return done(pathOf(visit), "saved")
      }),
      delete: action(remove, function*(visit) {
        yield* routes.remove(visit.session.userId, yield* requireId(visit), undefined)
        return done(ACCOUNT_PAGES.routes, "deleted")
      })
    }
  })
}))
