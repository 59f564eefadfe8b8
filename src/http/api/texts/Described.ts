import { OpenApi } from "effect/http-api"
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE_BYTES } from "../../../schema/Page.ts"

/** What the documentation says of an endpoint. */
export const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** What it says of a group of endpoints. */
export const titled = (title: string, description: string) => OpenApi.annotations({ title, description })

/** What the description of a list says where the contract leaves its pages open. */
export const PAGED = `One page: \`limit\` (1 to ${MAX_LIMIT}, default ${DEFAULT_LIMIT}) from \`offset\`. `
  + "`X-Total-Count` has the number of all, `Link` the other pages."

/** What the description of a list of routes says of long ones. */
export const BOUNDED_PAGE =
  `A page ends after ${MAX_PAGE_BYTES / 2 ** 20} MiB of geometry and waypoints, so it may have `
  + "fewer routes than `limit`: `Link` `next` leads on from there."
