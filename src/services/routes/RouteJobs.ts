import { Result } from "effect"
import { NewRoute, RoutePatch } from "../../schema/Route.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { longBodyJob } from "../json/LongBody.ts"
import { readerWithLine, type WithLine } from "./GeometryReader.ts"
import type { RouteLine } from "./RouteLine.ts"

/** What the body of a route has beside its text. */
interface RouteParts {
  readonly line?: RouteLine
}

/** Null clears the geometry of a route: it stays in the text. */
const split = (
  { line, rest }: WithLine<NewRoute | RoutePatch>
): { readonly rest: unknown; readonly parts: RouteParts } =>
  line === undefined || line === null
    ? { rest: { ...rest, geometry: line }, parts: {} }
    : { rest, parts: { line } }

const newRoute = readerWithLine(decodeBounded(NewRoute))

/** Takes the geometry out of the body of a new route, and measures it. */
export const readNewRoute = longBodyJob("read new route", (text) => Result.map(newRoute(text), split))

const routePatch = readerWithLine(decodeBounded(RoutePatch))

/** The same for the change of a route. */
export const readRoutePatch = longBodyJob("read route patch", (text) => Result.map(routePatch(text), split))
