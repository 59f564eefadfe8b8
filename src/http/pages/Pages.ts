import { Effect, Layer } from "effect"
import { settings } from "../../services/settings/Registry.ts"
import { accessPagesLayer } from "./account/AccessPages.ts"
import { adminPagesLayer } from "./account/AdminPages.ts"
import { collectionPagesLayer } from "./account/CollectionPages.ts"
import { dataPageLayer } from "./account/DataPage.ts"
import { invitationPageLayer } from "./account/InvitationPage.ts"
import { profilePagesLayer } from "./account/ProfilePages.ts"
import { routePageOfOwnerLayer } from "./account/RoutePage.ts"
import { routesPageLayer } from "./account/RoutesPage.ts"
import { signInPagesLayer } from "./account/SignInPages.ts"
import { trashPageLayer } from "./account/TrashPage.ts"
import { cancelDeletionPageLayer } from "./CancelDeletionPage.ts"
import { homePageLayer } from "./HomePage.ts"
import { assetLayer } from "./layout/Assets.ts"
import { STYLESHEET } from "./layout/Layout.ts"
import { missingPageLayer } from "./MissingPage.ts"
import { resetPasswordPageLayer } from "./ResetPasswordPage.ts"
import { revokeTokensPageLayer } from "./RevokeTokensPage.ts"
import { collectionPageLayer } from "./shared/CollectionPage.ts"
import { embedPageLayer } from "./shared/EmbedPage.ts"
import { oembedLayer } from "./shared/OEmbed.ts"
import { mapAssetsLayer } from "./shared/RouteMap.ts"
import { routePageLayer } from "./shared/RoutePage.ts"
import { sitemapLayer } from "./shared/Sitemap.ts"
import { userPageLayer } from "./shared/UserPage.ts"
import { verifyEmailPageLayer } from "./VerifyEmailPage.ts"

/** Pages for mailed links and shared routes, for operators without a front end. */
export const pagesLayer = Layer.unwrap(
  Effect.map(settings.PAGES_ENABLED, (isEnabled) =>
    isEnabled
      ? Layer.mergeAll(
        accessPagesLayer,
        dataPageLayer,
        adminPagesLayer,
        assetLayer(STYLESHEET),
        cancelDeletionPageLayer,
        collectionPageLayer,
        collectionPagesLayer,
        embedPageLayer,
        homePageLayer,
        invitationPageLayer,
        mapAssetsLayer,
        missingPageLayer,
        oembedLayer,
        resetPasswordPageLayer,
        revokeTokensPageLayer,
        profilePagesLayer,
        routePageLayer,
        routePageOfOwnerLayer,
        routesPageLayer,
        signInPagesLayer,
        sitemapLayer,
        trashPageLayer,
        userPageLayer,
        verifyEmailPageLayer
      )
      : Layer.empty)
)
