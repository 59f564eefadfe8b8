import { Effect, Schema } from "effect"
import { Conflict, type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { issuesOf } from "../../../schema/Issues.ts"
import type { SessionPrincipal } from "../../../schema/Principal.ts"
import { withoutFormat } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { ERROR_ID, issuesIn } from "../layout/Layout.ts"
import type { Fields } from "../layout/PageRoutes.ts"

/** The value of this field names the action of a form. */
export const ACTION = "do"

/** The value of this field is the account that a form was made for. */
export const MADE_FOR = "account"

interface Input {
  /** The name is also the id of the field, unless another form of the page has the same. */
  readonly name: string
  readonly id?: string
  readonly label: string
  readonly value?: string | number | null | undefined
  readonly type?: "date" | "email" | "number" | "search" | "text" | "url"
  readonly hint?: string | undefined
  readonly required?: boolean
  readonly autocomplete?: string
  readonly step?: string
  readonly isRefused?: boolean
}

const named = ({ name, id = name }: Input) => html`id="${id}" name="${name}"`

const attributes = ({ autocomplete, hint, isRefused, name, id = name, required, step }: Input) => {
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(isRefused === true ? [ERROR_ID] : [])]
  return html`${required === true ? html` required` : undefined}${
    autocomplete === undefined ? undefined : html` autocomplete="${autocomplete}"`
  }${step === undefined ? undefined : html` step="${step}"`}${
    described.length === 0 ? undefined : html` aria-describedby="${described.join(" ")}"`
  }${isRefused === true ? html` aria-invalid="true"` : undefined}`
}

const field = ({ hint, label, name, id = name }: Input, control: Html): Html =>
  html`<div><label for="${id}">${label}</label>
${hint === undefined ? undefined : html`<p class="hint" id="${id}-hint">${hint}</p>\n`}${control}</div>
`

export const input = (given: Input): Html => {
  const { type = "text", value } = given
  return field(given, html`<input type="${type}" ${named(given)} value="${value ?? ""}"${attributes(given)}>`)
}

export const passwordInput = (given: Input): Html =>
  field(given, html`<input type="password" ${named(given)}${attributes(given)}>`)

const fileInput = (given: Input, more: Html): Html =>
  field(given, html`<input type="file" ${named(given)} ${more}${attributes(given)}>`)

export const textarea = (given: Input): Html =>
  field(given, html`<textarea ${named(given)} rows="4"${attributes(given)}>\n${given.value ?? ""}</textarea>`)

type Options = ReadonlyArray<readonly [value: string, text: string]>

export const select = (given: Input, options: Options): Html => {
  const chosen = String(given.value ?? "")
  const option = ([value, text]: Options[number]) =>
    html`<option value="${value}"${value === chosen ? html` selected` : undefined}>${text}</option>`
  return field(given, html`<select ${named(given)}${attributes(given)}>${options.map(option)}</select>`)
}

type Name = keyof Texts["fields"]

/** These reasons are about one field. */
const FIELD_OF: Readonly<Record<string, Name>> = {
  handle_taken: "handle",
  current_password_wrong: "currentPassword",
  password_wrong: "password",
  password_needed: "password"
}

/**
 * Makes fields that have the label and the value of their name, and are marked where the error is about them. An issue
 * without a path is about the field `main`.
 */
export const fieldsOf = (
  { fields }: Texts,
  values: Readonly<Record<string, Input["value"]>>,
  error?: ServiceError,
  main?: string
) => {
  const issues = error === undefined ? [] : issuesIn(error)
  const refused = new Set([
    FIELD_OF[String(error?.details?.reason)],
    ...issues.flatMap(({ path }) => path === "body" ? [main] : path.split("."))
  ])
  const given = (name: Name, more?: Partial<Input>) => ({
    name,
    label: fields[name],
    value: values[name],
    isRefused: refused.has(name),
    ...more
  })
  return {
    input: (name: Name, more?: Partial<Input>) => input(given(name, more)),
    password: (name: Name, more?: Partial<Input>) => passwordInput(given(name, more)),
    file: (input: Input, more: Html) => fileInput({ ...input, isRefused: refused.has(input.name) }, more),
    textarea: (name: Name, more?: Partial<Input>) => textarea(given(name, more)),
    select: (name: Name, options: Options, more?: Partial<Input>) => select(given(name, more), options)
  }
}

export const copyField = ({ common }: Texts, id: string, label: string, value: string): Html =>
  html`<p><label for="${id}">${label}</label><input id="${id}" class="secret" readonly value="${value}" data-copy="${common.copy}" data-copied="${common.copied}"></p>\n`

export const checkbox = (name: string, label: string, isChecked: boolean): Html =>
  html`<p class="check"><label><input type="checkbox" name="${name}" value="true"${
    isChecked ? html` checked` : undefined
  }> ${label}</label></p>
`

export const hidden = (name: string, value: string | number): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`

/** Another person may have signed in since the form was made. Programs leave the field out. */
export const checkAccount = ({ userId }: SessionPrincipal, account: string | undefined) =>
  account === undefined || account === String(userId) ? Effect.void : Effect.fail(
    new Conflict({
      message: "The form was made for another account than the one that is signed in",
      details: { reason: "another_account" }
    })
  )

const STALE = "stale"

/** Only the refusal of a stale form says that saving it again replaces what is there. */
export const versionField = (sent: Fields, refusal: ServiceError | undefined, stored: number): Html =>
  hidden("version", sent[ACTION] !== "save" || refusal?.details?.reason === STALE ? stored : sent["version"] ?? stored)

export const expectedIn = ({ version }: Fields) => version === undefined ? undefined : [{ version: Number(version) }]

export const changedMeanwhile = () =>
  Effect.fail(
    new Conflict({
      message: "It was changed meanwhile: what you wrote is below, saving it replaces what is there",
      details: { reason: STALE }
    })
  )

type Kind = "main" | "quiet" | "danger"

/** `about` completes the name of one of several buttons with the same text. */
export const button = (action: string, text: string, kind: Kind = "main", about?: string): Html =>
  html`<button name="${ACTION}" value="${action}" class="${kind}">${text}${
    about === undefined ? undefined : html`<span class="hidden"> ${about}</span>`
  }</button>`

export const form = (...parts: ReadonlyArray<Html>): Html => html`<form method="post">\n${parts}\n</form>\n`

/** A script shows `late` below the form if the session has ended, so that the files stay chosen. */
export const filesForm = (late: string, ...parts: ReadonlyArray<Html>): Html =>
  html`<form method="post" enctype="multipart/form-data" data-late="${late}">
${parts}</form>\n`

/** Asks for a confirmation without a script. */
export const confirmed = (summary: string, words: Html | string, ...parts: ReadonlyArray<Html>): Html =>
  html`<details class="confirm"><summary>${summary}</summary>\n${form(html`<p>${words}</p>`, ...parts)}</details>\n`

export const rows = <A>({ common }: Texts, items: ReadonlyArray<A>, row: (item: A, index: number) => Html): Html =>
  items.length === 0 ? html`<p>${common.none}</p>` : html`<ul class="rows">${items.map(row)}</ul>`

export const filterForm = ({ common }: Texts, action: string, label: string, ...parts: ReadonlyArray<Html>): Html =>
  html`<form class="filters" method="get" action="${action}" role="search" aria-label="${label}">
${parts}<button class="quiet">${common.find}</button>
</form>
`

/** Leaves out parameters that a form has sent without a value. */
export const filtersIn = (query: URLSearchParams, names: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => {
    const value = orNull(query.get(name))
    return value === null ? [] : [[name, value]]
  }))

export const notice = (text: string | undefined): Html =>
  text === undefined ? html`` : html`<p class="notice" role="status">${text}</p>\n`

/** Makes `null`, which clears a member, of a text that a form leaves empty. */
export const orNull = (text: string | null | undefined): string | null => text?.trim() === "" ? null : text ?? null

interface Described {
  readonly name: string
  readonly description?: string | undefined
}

/**
 * Leaves out a name and a description that are as the form shows the stored ones, which may have more: `html` removes
 * format characters, and browsers change line breaks.
 */
export const describedBy = ({ description, name }: Fields, stored?: Described) => ({
  ...(stored !== undefined && name === withoutFormat(stored.name).replace(/[\r\n]/g, "") ? {} : { name }),
  ...(description === withoutFormat(stored?.description ?? "").replace(/\r\n?/g, "\n")
    ? {}
    : { description: orNull(description) })
})

export const isChecked = (fields: Fields, name: string): boolean => fields[name] === "true"

/** Returns `null` for an empty text. A schema accepts or refuses a number as the person wrote it. */
export const numberOf = (text: string | undefined): number | string | null => {
  const given = orNull(text)
  return given === null || Number.isNaN(Number(given)) ? given : Number(given)
}

export const decodeForm = <A, I>(schema: Schema.Codec<A, I>, value: unknown): Effect.Effect<A, ValidationFailed> =>
  Schema.decodeUnknownEffect(schema)(value, { errors: "all" }).pipe(
    Effect.mapError((error) => ValidationFailed.of("body", issuesOf(error)))
  )

/** A list whose search is refused shows `all`, beneath its form and the error. */
export const searched = <A, R>(decoded: Effect.Effect<A, ValidationFailed, R>, all: A) =>
  Effect.match(decoded, {
    onFailure: (error) => ({ filter: all, error }),
    onSuccess: (filter) => ({ filter, error: undefined })
  })

export const decodeNamed = <A, I>(schema: Schema.Codec<A, I>, name: string, value: unknown) =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(value, { errors: "all" }),
    (error) => ValidationFailed.of("body", issuesOf(error).map(({ message }) => ({ path: name, message })))
  )
