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
    "Deletes a collection; its routes stay. A personal access token must confirm."
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
