import { MAX_IN_TRASH } from "../../../schema/Collection.ts"
import { GRACE_PERIOD, grouped, inWords } from "../../../schema/Limits.ts"
import { BOUNDED_PAGE, described, PAGED, titled } from "./Described.ts"

export const texts = {
  list: described(
    "List own collections",
    "The caller's collections of every visibility, newest first; with `q` those whose name and description have its words, "
      + `by the rules of the list of routes. ${PAGED}`
  ),
  create: described(
    "Make a collection",
    "Makes a collection of one's own routes and others' public ones. A personal access token that makes it public must "
      + "confirm."
  ),
  update: described(
    "Change a collection",
    "Changes the members that the body names; `null` clears the description. A personal access token that makes it "
      + "public must confirm."
  ),
  remove: described(
    "Delete a collection",
    `Deletes a collection; its routes stay. A personal access token must confirm. The trash keeps the ${
      grouped(MAX_IN_TRASH)
    } newest of an account.`
  ),
  listDeleted: described(
    "List deleted collections",
    `The caller's deleted collections, newest deletion first. They can be restored for ${
      inWords(GRACE_PERIOD)
    }, until \`purgedAt\`, and count for no quota. ${PAGED}`
  ),
  restore: described(
    "Restore a deleted collection",
    `Restores a deleted collection as it was, within ${
      inWords(GRACE_PERIOD)
    }. It counts for the quota again: 409 where that is full. A personal access token must confirm where the collection `
      + "was public, since it is public again."
  ),
  emptyTrash: described(
    "Empty the trash of collections",
    "Erases all deleted collections of the caller for good; their routes stay. A personal access token must confirm. "
      + "After an error a part of them may be erased: the same call erases the rest."
  ),
  purge: described(
    "Erase a deleted collection",
    "Erases a collection in the trash for good; its routes stay. A personal access token must confirm. 404 for a "
      + "collection that is not in the trash."
  ),
  setRoutes: described("Set the routes of a collection", "Sets the routes and their order."),
  addRoute: described(
    "Add a route to a collection",
    "Adds a route at `position` (from 0), or at the end; one that is there already is moved."
  ),
  removeRoute: described(
    "Take a route out of a collection",
    "Takes a route out of the collection; the route itself stays."
  ),
  get: described(
    "Open a collection",
    "By id: the owner's own collections, and public ones. By share token or that of a link: public and unlisted ones. Routes that the "
      + "caller may not see are left out."
  ),
  routes: described(
    "Open the routes of a collection",
    "The routes of a collection in its order, as the caller may see them. Unlisted routes are among them only for the "
      + "collection's owner and for their own; those of the collection's owner also for anyone who opens it by its share "
      + "token or a link. Their ids in `routeIds` open nothing. "
      + `${PAGED} ${BOUNDED_PAGE}`
  ),
  listByUser: described(
    "List a user's public collections",
    `A user's public collections, newest first. ${PAGED} 404 for a user who does not exist or is pending deletion.`
  ),
  group: titled("Collections", "Ordered lists of routes.")
}
