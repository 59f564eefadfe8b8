import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { DOCS_PAGE } from "../src/http/request/RouteTemplates.ts"
import { mailboxFile } from "./DevelopmentMailbox.ts"

export const readyHintLayer = (directory: string) =>
  Layer.effectDiscard(
    HttpServer.addressFormattedWith((address) =>
      Effect.logInfo("ready", {
        address,
        api: `${address}${DOCS_PAGE}`,
        mailbox: mailboxFile(directory),
        data: directory
      })
    )
  )
