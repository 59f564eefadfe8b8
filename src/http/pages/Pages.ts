import { Config, Effect, Layer } from "effect"
import { assetLayer } from "../docs/Assets.ts"
import { cancelDeletionPageLayer } from "./CancelDeletionPage.ts"
import { homePageLayer } from "./HomePage.ts"
import { STYLESHEET } from "./Layout.ts"
import { resetPasswordPageLayer } from "./ResetPasswordPage.ts"
import { verifyEmailPageLayer } from "./VerifyEmailPage.ts"

export const pagesEnabled = Config.Boolean("PAGES_ENABLED").pipe(Config.withDefault(true))

/** Targets of mailed links for operators without a front end. */
export const pagesLayer = Layer.unwrap(
  Effect.map(pagesEnabled, (isEnabled) =>
    isEnabled
      ? Layer.mergeAll(
        assetLayer(STYLESHEET),
        cancelDeletionPageLayer,
        homePageLayer,
        resetPasswordPageLayer,
        verifyEmailPageLayer
      )
      : Layer.empty)
)
