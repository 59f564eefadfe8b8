import { OpenApi } from "effect/http-api"
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE_BYTES } from "../../schema/Page.ts"

export const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

export const titled = (title: string, description: string) => OpenApi.annotations({ title, description })

export const mebibytes = (bytes: number) => `${bytes / 2 ** 20} MiB`

export const PAGED = `One page: \`limit\` (1 to ${MAX_LIMIT}, default ${DEFAULT_LIMIT}) from \`offset\`. `
  + "`X-Total-Count` has the number of all, `Link` the other pages: `next` has a `cursor` unless `offset` is given."

export const MOVING = "An item whose place in this order changes between two pages may be on both, or on neither."

export const BOUNDED_PAGE =
  `A page ends after ${mebibytes(MAX_PAGE_BYTES)} of geometry, cues and waypoints, so it may have `
  + "fewer routes than `limit`: `Link` `next` leads on from there."
