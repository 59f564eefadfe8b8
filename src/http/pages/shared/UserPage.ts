import { Effect, Layer } from "effect"
import { Handle } from "../../../schema/User.ts"
import { Profiles } from "../../../services/accounts/Profile.ts"
import { html } from "../../../services/operations/Html.ts"
import { PublicRoutes } from "../../../services/routes/PublicRoutes.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { pageLinks } from "../../response/ResourceJson.ts"
import { avatarImage, avatarPolicy } from "./Avatar.ts"
import { cardPage, cards, previewHead, previewPicture } from "./RouteParts.ts"
import { type SharedPage, sharedPageLayer } from "./SharedPage.ts"

export const userPageLayer = Layer.unwrap(Effect.gen(function*() {
  const { root: address } = yield* pageLinks
  const profiles = yield* Profiles
  const publicRoutes = yield* PublicRoutes
  const site = yield* configuredSite
  return sharedPageLayer(
    SHARED_PAGES.user,
    Handle,
    Effect.fnUntraced(function*({ query, ref: handle, root, units }) {
      const page = cardPage(query)
      const { avatar, id, name } = yield* profiles.publicProfile(handle)
      const routes = yield* publicRoutes.byUser(id, page, "summary")
      const url = `${address}u/${handle}`
      const pictured = routes.items[0]?.shareToken
      const count = site.texts.pages.publicRoutes(routes.total)
      const shown: SharedPage = {
        title: name,
        visibility: routes.total > 0 ? "public" : "unlisted",
        head: previewHead(site, address, {
          title: name,
          description: count,
          url,
          pictured: pictured === undefined ? undefined : previewPicture(address, pictured),
          hasOEmbed: false,
          data: { "@type": "ProfilePage", url, mainEntity: { "@type": "Person", name, alternateName: handle, url } }
        }),
        policy: avatarPolicy(avatar),
        body: html`${avatarImage(avatar)}<p class="lead">@${handle}, ${count}</p>
${cards(routes, { offset: page.offset, root, texts: site.texts, units })}`
      }
      return shown
    })
  )
}))
