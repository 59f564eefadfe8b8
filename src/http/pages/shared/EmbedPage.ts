import { Effect, Layer, Option } from "effect"
import { RouteRef } from "../../../schema/Ids.ts"
import { Missing } from "../../../services/DomainErrors.ts"
import { html } from "../../../services/operations/Html.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { attribution, hasProfile, picture, summaryOf } from "./RouteParts.ts"
import { type SharedPage, sharedPageLayer } from "./SharedPage.ts"
import type { Units } from "./Units.ts"

const shotsIn = (units: Units) => ({
  wide: { width: 640, height: 340, profile: hasProfile(units) },
  narrow: { width: 400, height: 300, profile: hasProfile(units) }
})

const FRAMED = {
  isFramed: true,
  policy: { "frame-ancestors": "*" },
  head: html`<base target="_blank">`
}

/**
 * Shows a route to anyone with the share token, in a frame of any site. The page ignores the session of the browser, and
 * the request of its picture does not.
 */
export const embedPageLayer = Layer.unwrap(Effect.gen(function*() {
  const routes = yield* Routes
  const { texts } = yield* configuredSite
  return sharedPageLayer(
    SHARED_PAGES.embed,
    RouteRef,
    Effect.fnUntraced(function*({ ref, root, units }) {
      if (typeof ref !== "string") return yield* new Missing({ kind: "page" })
      const route = yield* routes.get(ref, Option.none(), "none")
      const page: SharedPage = {
        title: route.name,
        visibility: route.visibility,
        body: html`${picture(ref, shotsIn(units), texts.shared.lineOf(route.name), root)}
<p>${summaryOf(route, texts, units)} <a href="${root}r/${ref}">${texts.pages.openRoute}</a></p>
${attribution(route, texts)}`
      }
      return page
    }),
    FRAMED
  )
}))
