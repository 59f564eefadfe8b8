import { GRACE_PERIOD } from "../../schema/Limits.ts"
import { TAG_RULE } from "../../schema/Route.ts"
import type { ShareLink } from "../../schema/ShareLink.ts"
import { wordingIn } from "./Wording.ts"

const { counted, date, duration, number } = wordingIn("en")

const dateOr = (instant: string | null, otherwise: string) => instant === null ? otherwise : date(instant)

/** The pages of an account's own routes and collections. */
export const routesEnglish = {
  routes: {
    title: "My routes",
    sorts: {
      "-createdAt": "Newest first",
      "-updatedAt": "Changed last",
      name: "By name",
      "-distance": "Longest first",
      distance: "Shortest first"
    },
    any: "Any",
    onlyFavourites: "Only favourites",
    favourite: "favourite",
    marksOf: (name: string) => `Marks of ${name}`,
    uploaded: "Uploaded files",
    upload: "Upload routes",
    files: "Files",
    filesHint: (formats: string) =>
      `${formats} or ZIP, one or many. A file with several tracks becomes several routes.`,
    seenBy: "Who sees them",
    uploadButton: "Upload",
    noFiles: "Choose one or more files",
    noRoutes: "There are no routes here yet. Upload a file of your device or of another program to begin.",
    notFound: "No route is like that.",
    count: (count: number) => counted(count, "route", "routes")
  },
  route: {
    lineAndProfile: (name: string) => `The line of ${name} and its elevation profile`,
    seePage: "See the page of the route",
    change: "Change",
    tagsHint: `With commas between them; each has ${TAG_RULE}.`,
    noActivity: "Not said",
    favourite: "A favourite of mine",
    publish: "Publish",
    publishWords: "Anyone will be able to find and open it. Your privacy zones stay hidden.",
    publishButton: "Publish the route",
    delete: "Delete",
    deleteButton: "Delete the route",
    deleteWords: "It is moved to the trash, from which it can be restored."
  },
  sharing: {
    title: "Share",
    isPrivate: "It is private: nobody else opens it. Make it unlisted to give others a link.",
    link: "Link to copy",
    replace: "Replace the link",
    replaceWords: "The link that you gave to others opens nothing from then on.",
    more: "More links",
    unnamed: (id: number) => `Link ${id}`,
    facts: ({ allowDownload, expiresAt, lastUsedAt, uses }: ShareLink) =>
      `Expires: ${dateOr(expiresAt, "never")}. Opened ${counted(uses, "time", "times")}, last: ${
        dateOr(lastUsedAt, "never")
      }.${allowDownload ? "" : " Without files."}`,
    remove: "Remove",
    label: "Name of a new link",
    labelHint: "For you alone.",
    expiresHint: "Empty for a link without an end.",
    allowDownload: "It opens files such as GPX too",
    make: "Make a link"
  },
  collections: {
    title: "Collections",
    lead: "A collection is a list of routes in your order, which can be shared as a whole.",
    previous: "Previous collections",
    more: "More collections",
    make: "Make a collection",
    makeButton: "Make the collection",
    seePage: "See the page of the collection",
    up: "Up",
    down: "Down",
    remove: "Remove",
    search: "Search my routes",
    allAdded: "All of these routes are in it.",
    oneOfMine: "One of my routes",
    add: "Add",
    change: "Change",
    delete: "Delete",
    deleteButton: "Delete the collection",
    deleteWords: "It is moved to the trash. Its routes stay."
  },
  trash: {
    title: "Trash",
    lead: `What is here can be restored for ${
      duration(GRACE_PERIOD)
    } after it was deleted. A restored route is seen by those who saw it before.`,
    routes: "Routes",
    collections: "Collections",
    none: "There are none in the trash.",
    facts: (deletedAt: string, purgedAt: string) => `Deleted on ${date(deletedAt)}, erased on ${date(purgedAt)}.`,
    restore: "Restore",
    erase: "Erase",
    eraseWords: "It is erased for good.",
    eraseAll: (count: number) => `Erase all ${number(count)}`,
    eraseAllWords: "They are erased for good.",
    eraseAllButton: "Erase all"
  }
}

export type RoutesTexts = typeof routesEnglish
