/** The version of the rule and the data. Increase it with each change: the sweep derives earlier routes again. */
export const PLACES_VERSION = 1
