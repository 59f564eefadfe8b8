import { Effect, Layer } from "effect"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { configuredSite, logoPath, logoType, type Site } from "../../services/texts/Site.ts"
import { accessPagesLayer } from "./account/AccessPages.ts"
import { adminPagesLayer } from "./account/AdminPages.ts"
import { collectionPagesLayer } from "./account/CollectionPages.ts"
import { dataPageLayer } from "./account/DataPage.ts"
import { profilePagesLayer } from "./account/ProfilePages.ts"
import { routePageOfOwnerLayer } from "./account/RoutePage.ts"
import { routesPageLayer } from "./account/RoutesPage.ts"
import { signInPagesLayer } from "./account/SignInPages.ts"
import { trashPageLayer } from "./account/TrashPage.ts"
import { homePageLayer } from "./HomePage.ts"
import { assetLayer, fileLayer } from "./layout/Assets.ts"
import { colorSheet, STYLESHEET } from "./layout/Layout.ts"
import { FORM_SCRIPT } from "./layout/PageRoutes.ts"
import { mailedLinkPagesLayer } from "./MailedLinkPages.ts"
import { missingPageLayer } from "./MissingPage.ts"
import { cardImageLayer } from "./shared/CardImage.ts"
import { collectionPageLayer } from "./shared/CollectionPage.ts"
import { embedPageLayer } from "./shared/EmbedPage.ts"
import { oembedLayer } from "./shared/OEmbed.ts"
import { mapAssetsLayer } from "./shared/RouteMap.ts"
import { routePageLayer } from "./shared/RoutePage.ts"
import { sitemapLayer } from "./shared/Sitemap.ts"
import { userPageLayer } from "./shared/UserPage.ts"
import { signedInPagesLayer } from "./SignedInPages.ts"

const logoLayer = ({ logo }: Site) => {
  if (logo?.file === undefined) return Layer.empty
  return fileLayer(`/${logoPath(logo.file)}`, logo.file, logoType(logo.file))
}

/** Operators without a front end have these pages. */
export const pagesLayer = Layer.unwrap(
  Effect.map(Effect.all({ isEnabled: settings.PAGES_ENABLED, site: configuredSite }), ({ isEnabled, site }) =>
    isEnabled
      ? Layer.mergeAll(
        accessPagesLayer,
        dataPageLayer,
        adminPagesLayer,
        assetLayer(FORM_SCRIPT),
        assetLayer(STYLESHEET),
        assetLayer(colorSheet(site)),
        cardImageLayer,
        collectionPageLayer,
        collectionPagesLayer,
        embedPageLayer,
        homePageLayer,
        logoLayer(site),
        mapAssetsLayer,
        missingPageLayer,
        oembedLayer,
        mailedLinkPagesLayer,
        profilePagesLayer,
        routePageLayer,
        routePageOfOwnerLayer,
        routesPageLayer,
        signedInPagesLayer,
        signInPagesLayer,
        sitemapLayer,
        trashPageLayer,
        userPageLayer
      )
      : Layer.empty)
)
