import { MAX_LINKS } from "../../../schema/ShareLink.ts"
import { described, PAGED, titled } from "./Described.ts"

const textsOf = (kind: "route" | "collection") => ({
  list: described(
    `List the links of a ${kind}`,
    `The links that are not expired, newest first, with their tokens. ${PAGED}`
  ),
  create: described(
    `Make a link to a ${kind}`,
    `Makes a link beside the share token; a ${kind} has at most ${MAX_LINKS}. Its token opens what the share token opens, and `
      + "nothing while the "
      + `${kind} is private. It opens nothing from its expiry on. `
      + (kind === "route"
        ? "With `allowDownload: false` files are 403 with `details.reason` `download_not_allowed`, for others than the owner; "
          + "the line in JSON is still what a page needs to draw it, so this hides no position."
        : "Unlisted routes of the collection come without their own share tokens, which would outlive the link: their lines "
          + "are in the list of its routes, and they have no files by it. `allowDownload` tells a page whether to offer "
          + "downloads.")
  ),
  change: described(
    `Change a link to a ${kind}`,
    "Changes the members that the body names; `null` clears the label or the expiry. The token stays."
  ),
  remove: described(`Delete a link to a ${kind}`, "Deletes a link: its token opens nothing from now on."),
  replaceShareToken: described(
    `Replace the share token of a ${kind}`,
    `Makes another share token: the one before is 404 everywhere from now on. Links stay. The ${kind} has a new version.`
  )
})

export type LinkTexts = ReturnType<typeof textsOf>

export const texts = {
  route: textsOf("route"),
  collection: textsOf("collection"),
  group: titled("Links", "Links to routes and collections, which expire and can be deleted.")
}
