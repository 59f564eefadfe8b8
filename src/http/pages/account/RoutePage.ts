import { Effect, Layer, Option } from "effect"
import { Conflict } from "../../../schema/Errors.ts"
import { RouteIdFromPath } from "../../../schema/Ids.ts"
import { FILE_FORMATS } from "../../../schema/Import.ts"
import { RoutePatch, type StoredRoute, TAG_RULE } from "../../../schema/Route.ts"
import { Missing } from "../../../services/DomainErrors.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { attribution, facts, formatName, picture } from "../shared/RouteParts.ts"
import { accountPageLayer, done, idOf, type Visit } from "./AccountPage.ts"
import {
  ACTION,
  ACTIVITIES,
  button,
  checkbox,
  confirmed,
  decodeForm,
  form,
  hidden,
  input,
  isChecked,
  orNull,
  select,
  textarea,
  VISIBILITIES
} from "./Forms.ts"
import { makeSharing } from "./Sharing.ts"

const SHOTS = {
  wide: { width: 960, height: 480, profile: true },
  narrow: { width: 400, height: 440, profile: true }
}

const tagsOf = (text: string | undefined) =>
  (text ?? "").split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")

const editForm = (route: StoredRoute, fields: Fields): Html => {
  const isRefused = fields[ACTION] === "save"
  const given = (name: string, stored: string | undefined) => isRefused ? fields[name] : stored
  return form(
    hidden("version", route.version),
    input({ name: "name", label: "Name", value: given("name", route.name), required: true }),
    textarea({ name: "description", label: "Description", value: given("description", route.description) }),
    input({
      name: "tags",
      label: "Tags",
      value: given("tags", route.tags.join(", ")),
      hint: `With commas between them; each has ${TAG_RULE}.`
    }),
    html`<div class="columns">`,
    select({ name: "activity", label: "Activity", value: given("activity", route.activity) }, [
      ["", "Not said"],
      ...ACTIVITIES
    ]),
    select({ name: "visibility", label: "Who sees it", value: given("visibility", route.visibility) }, VISIBILITIES),
    html`</div>\n`,
    checkbox("favourite", "A favourite of mine", isRefused ? isChecked(fields, "favourite") : route.favourite),
    button("save", "Save")
  )
}

const publishForm = ({ visibility }: StoredRoute) =>
  visibility === "public"
    ? undefined
    : html`<div class="actions">${
      confirmed(
        "Publish",
        html`<p>Anyone will be able to find and open it. Your privacy zones stay hidden.</p>`,
        button("publish", "Publish the route")
      )
    }</div>`

const downloads = ({ id }: StoredRoute, root: string) =>
  html`<section aria-labelledby="files"><h2 id="files">Download</h2>
<ul class="files">${
    FILE_FORMATS.map((format) =>
      html`<li><a href="${root}api/v1/routes/${id}/${format}" download>${formatName(format)}</a></li>`
    )
  }</ul></section>
`

const changedMeanwhile = () =>
  new Conflict({
    message: "The route was changed meanwhile: what you wrote is below, saving it replaces what is there",
    details: { reason: "stale" }
  })

const pathOf = ({ params }: Visit) => `${ACCOUNT_PAGES.routes}/${params["id"]}`

const requireId = ({ params }: Visit) => idOf(RouteIdFromPath, params["id"])

const patchOf = (fields: Fields) => ({
  name: fields["name"],
  description: orNull(fields["description"]),
  tags: tagsOf(fields["tags"]),
  activity: orNull(fields["activity"]),
  visibility: fields["visibility"],
  favourite: isChecked(fields, "favourite")
})

/** A route as its owner changes it; `/r/{id}` shows it as others see it. */
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
    const { fields, root } = visit
    const route = yield* own(visit)
    const shared = { kind: "route", id: route.id } as const
    return {
      title: route.name,
      body: html`<figure>${
        picture(String(route.id), SHOTS, `The line of ${route.name} and its elevation profile`, root)
      }</figure>
${facts(route)}
<p><a href="${root}r/${route.visibility === "private" ? route.id : route.shareToken}">See the page of the route</a></p>
<h2>Change</h2>
${publishForm(route)}
${editForm(route, fields)}${yield* sharing.section(visit, {
        shared,
        shareToken: route.shareToken,
        visibility: route.visibility
      })}${downloads(route, root)}<h2>Delete</h2>
${
        confirmed(
          "Delete the route",
          html`<p>It is moved to the trash, from which it can be restored.</p>`,
          button("delete", "Delete the route", "danger")
        )
      }
${attribution(route)}`
    }
  })

  const change = Effect.fnUntraced(function*(visit: Visit, given: unknown, version?: string) {
    const patch = yield* decodeForm(RoutePatch, given)
    const { geometry: _, polyline6: __, ...change } = patch
    const expected = version === undefined ? undefined : [Number(version)]
    return yield* routes.update(visit.session.userId, yield* requireId(visit), change, expected).pipe(
      Effect.catchTag("StaleVersion", () => Effect.fail(changedMeanwhile()))
    )
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
      save: {
        endpoint: update,
        run: (visit) =>
          Effect.as(change(visit, patchOf(visit.fields), visit.fields["version"]), done(pathOf(visit), "saved"))
      },
      publish: {
        endpoint: update,
        run: (visit) => Effect.as(change(visit, { visibility: "public" }), done(pathOf(visit), "published"))
      },
      delete: {
        endpoint: remove,
        run: Effect.fnUntraced(function*(visit) {
          yield* routes.remove(visit.session.userId, yield* requireId(visit), undefined)
          return done(ACCOUNT_PAGES.routes, "deleted")
        })
      }
    }
  })
}))
