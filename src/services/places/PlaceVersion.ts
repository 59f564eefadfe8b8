/**
 * The version of the rule and of the data by which places are derived. Raise it with each change of either: the sweep
 * derives the routes of earlier versions again.
 */
export const PLACES_VERSION = 1
