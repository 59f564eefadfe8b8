import { Effect, Option, Schema } from "effect"
import { type ServiceError, ValidationFailed } from "../../../schema/Errors.ts"
import { MailedToken, NewPassword, PASSWORD_RULE } from "../../../schema/User.ts"
import type { LinkState, LinkUnusable, Overloaded } from "../../../services/DomainErrors.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { noteError } from "../../response/ErrorResponse.ts"
import { publicError } from "../../response/PublicErrors.ts"
import { alert, ERROR_ID, type Page, plainWords } from "./Layout.ts"
import { decodeField, type Fields } from "./PageRoutes.ts"

const Token = Schema.RedactedFromValue(MailedToken)

const Password = Schema.RedactedFromValue(NewPassword)

const noToken = () => ValidationFailed.at("body", "token", "Expected the token of a mailed link")

export const tokenOf = (fields: Fields) => Effect.tapError(decodeField(Token, fields["token"], noToken), noteError)

export const unusableAlert = ({ link }: Texts, state: LinkState): Html => alert(link[state])

/** A mailed link as its form sends it again. The address is shown only, so that it is there when the form is refused. */
export interface Link {
  readonly token: string
  readonly email: string | undefined
}

export const linkFields = ({ email, token }: Link): Html =>
  html`<input type="hidden" name="token" value="${token}">
${email === undefined ? html`` : html`<input type="hidden" name="email" value="${email}">`}`

export const addressOf = ({ email }: Link, { link }: Texts): Html =>
  email === undefined ? html`${link.yourAddress}` : html`<strong>${email}</strong>`

interface LinkPages {
  readonly addressOf: (token: typeof Token.Type) => Effect.Effect<string, LinkUnusable | Overloaded>
  readonly form: (link: Link, fields: Fields, error?: ServiceError) => Page
  readonly unusable: (error: ServiceError, state: LinkState) => Page
}

/** The form of a link that can be used, which names the address: a link may be of a stranger's account. */
export const shownLink = ({ addressOf, form, unusable }: LinkPages) =>
  Effect.fnUntraced(
    function*(query: URLSearchParams) {
      const token = query.get("token") ?? ""
      return form({ token, email: yield* addressOf(yield* tokenOf({ token })) }, {})
    },
    Effect.catchTags({
      LinkUnusable: (error) => Effect.map(publicError(error), (shown) => unusable(shown, error.state)),
      ValidationFailed: (error) => Effect.succeed(unusable(error, "unknown"))
    })
  )

export const refusedLink = ({ form, unusable }: LinkPages) => (error: ServiceError, fields: Fields): Page =>
  fields["token"] === undefined
    ? unusable(error, "unknown")
    : form({ token: fields["token"], email: fields["email"] }, fields, error)

const wrongLength = () => ValidationFailed.at("body", "password", `Use ${PASSWORD_RULE}`)

export const newPasswordOf = (value: string | undefined) => decodeField(Password, value, wrongLength)

const issuesOf = Schema.decodeUnknownOption(
  Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
)

const passwordIssue = ({ details }: ServiceError) =>
  Option.getOrUndefined(issuesOf(details))?.issues.find(({ path }) => path === "body.password")?.message

/** Says what is wrong with the password, after some advice, or else with the request. */
export const passwordWords = (texts: Texts, error: ServiceError, advice?: string): string => {
  const issue = passwordIssue(error)
  if (issue === undefined) return plainWords(texts, error)
  return [advice, texts.errors.password(issue)].filter((part) => part !== undefined).join(" ")
}

export const newPasswordInput = (
  { link }: Texts,
  name: string,
  error?: ServiceError,
  label = link.newPassword
): Html => {
  const state = error === undefined || passwordIssue(error) === undefined
    ? html`aria-describedby="${name}-hint"`
    : html`aria-describedby="${name}-hint ${ERROR_ID}" aria-invalid="true" autofocus`
  return html`<label for="${name}">${label}</label>
<p class="hint" id="${name}-hint">${link.newPasswordHint}</p>
<input type="password" id="${name}" name="${name}" autocomplete="new-password" required ${state}>`
}
