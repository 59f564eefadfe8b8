import { type Array as Arr, Effect, type Schema } from "effect"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { PreconditionRequired } from "../../schema/Errors.ts"
import type { Principal } from "../../schema/Principal.ts"
import { HEADERS } from "../api/Headers.ts"
import type { ConfirmHeader } from "../api/Requests.ts"

type Headers = Schema.Struct.Type<typeof ConfirmHeader>

type Resource = "route" | "collection"

/** Front ends ask before the call; the value for tokens is case-sensitive. */
export const isConfirmed = (caller: Principal, headers: Headers): boolean =>
  caller.kind === "session" || headers[HEADERS.confirm.key] === "true"

export const publishing = (resource: Resource, name: string, id?: number): Impact => ({
  action: `${resource}.publish`,
  resource,
  ...(id === undefined ? {} : { id }),
  summary: `Anyone will be able to find and open "${name}".`
})

/** An import is confirmed before its files are known. */
export const publishingAll: Impact = {
  action: "route.publish",
  resource: "route",
  summary: "Anyone will be able to find and open the routes of the archive."
}

export const shrinking = (zones: number): Impact => ({
  action: "privacy_zones.shrink",
  resource: "privacy_zones",
  summary: `Others will see what ${zones === 1 ? "a privacy zone" : `${zones} privacy zones`} of yours hide${
    zones === 1 ? "s" : ""
  } in all of your routes.`
})

const LEFT = { route: "", collection: "; its routes stay" } as const

export const deleting = (resource: Resource, name: string, id?: number): Impact => ({
  action: `${resource}.delete`,
  resource,
  ...(id === undefined ? {} : { id }),
  summary: `"${name}" will be deleted for everyone${LEFT[resource]}.`
})

export const replacingToken = (resource: Resource, name: string, id: number): Impact => ({
  action: `${resource}.replace_share_token`,
  resource,
  id,
  summary: `Nobody will be able to open "${name}" by its present share token.`
})

export const deletingLink = (resource: Resource, label: string | null, id: number): Impact => ({
  action: "link.delete",
  resource: "link",
  id,
  summary: `${label === null ? "The link" : `The link "${label}"`} to the ${resource} will open nothing.`
})

export const purging = (resource: Resource, name: string, id: number): Impact => ({
  action: `${resource}.purge`,
  resource,
  id,
  summary: `"${name}" will be erased for good.`
})

export const purgingAll = (resource: Resource, count: number): Impact => ({
  action: `${resource}.purge`,
  resource,
  summary: `${count} deleted ${count === 1 ? resource : `${resource}s`} will be erased for good.`
})

const MESSAGE = `Send ${HEADERS.confirm.name}: true to confirm`

export const unconfirmed = (impact: Impact) =>
  new PreconditionRequired({ message: MESSAGE, details: { impact: { ...impact } } })

export const unconfirmedAll = (impacts: Arr.NonEmptyReadonlyArray<Impact>) =>
  new PreconditionRequired({
    message: MESSAGE,
    details: { impact: { ...impacts[0] }, impacts: impacts.map((impact) => ({ ...impact })) }
  })

export const requireConfirmed = <E, R>(caller: Principal, headers: Headers, impact: Effect.Effect<Impact, E, R>) =>
  isConfirmed(caller, headers)
    ? Effect.void
    : Effect.flatMap(impact, (impact) => Effect.fail(unconfirmed(impact)))
