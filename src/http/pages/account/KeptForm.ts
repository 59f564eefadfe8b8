import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { ServiceError } from "../../../schema/Errors.ts"
import type { User } from "../../../schema/User.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { alert, type Page, plainWords } from "../layout/Layout.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { signInByForm, signInForm } from "../layout/SignInForm.ts"
import { ACTION, form, hidden, MADE_FOR } from "./Forms.ts"

/** This field of a sign-in has the fields of the form before it. */
const KEPT = "kept"

const Kept = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const encodeKept = Schema.encodeSync(Kept)

const decodeKept = Schema.decodeUnknownOption(Kept)

/** A person enters passwords again. */
const isPassword = (name: string) => /password/i.test(name)

/** Nothing is left to be sent of a form that has passwords only. */
const hasPasswordsOnly = (fields: Fields) => {
  const names = Object.keys(fields).filter((name) => name !== ACTION && name !== MADE_FOR)
  return names.length > 0 && names.every(isPassword)
}

const keptIn = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => value === undefined || isPassword(name) ? [] : [[name, value]])
  )

/** A form outlasts its session. It needs another press after the sign-in: another person may have signed in. */
export const keptForms = Effect.gen(function*() {
  const { texts } = yield* configuredSite
  const signIn = yield* signInByForm
  const { signIn: words } = texts

  const signInPage = (error: ServiceError, text: string, formHtml: Html): Page => ({
    title: words.title,
    error,
    body: html`${alert(text)}\n${formHtml}`
  })

  const keptPage = (kept: Readonly<Record<string, string>>, email: string, error: ServiceError, text: string) =>
    signInPage(error, text, signInForm(texts, "", email, error, hidden(KEPT, encodeKept(kept))))

  const signInFirst = (text: string, path: string, root: string, error: ServiceError) =>
    signInPage(
      error,
      text,
      signInForm(texts, `${root}${ACCOUNT_PAGES.signIn.slice(1)}`, "", error, hidden("to", path.slice(1)))
    )

  const sendPage = (kept: Readonly<Record<string, string>>, { email, id, role }: User, root: string): Page => ({
    title: words.keptTitle,
    reader: role,
    body: html`<p role="status">${words.kept(html`<strong>${email}</strong>`)}</p>
${
      form(
        ...Object.entries({ ...kept, [MADE_FOR]: String(id) }).map(([name, value]) => hidden(name, value)),
        html`<button type="submit">${words.send}</button>`
      )
    }<p><a href="${root}${ACCOUNT_PAGES.routes.slice(1)}">${words.away}</a></p>`
  })

  return {
    late: (fields: Fields, path: string, root: string, error: ServiceError): Page =>
      hasPasswordsOnly(fields)
        ? signInFirst(words.latePassword, path, root, error)
        : keptPage(keptIn(fields), "", error, words.late),
    /** The form of a person without a session loses its files. */
    lateFiles: (path: string, root: string, error: ServiceError): Page =>
      signInFirst(words.lateFiles, path, root, error),
    keptOf: (fields: Fields) => decodeKept(fields[KEPT]),
    signIn: (
      kept: Readonly<Record<string, string>>,
      fields: Fields,
      request: HttpServerRequest.HttpServerRequest,
      root: string
    ) => Effect.map(signIn(fields, request), ({ user }) => sendPage(kept, user, root)),
    refused: (kept: Readonly<Record<string, string>>, email: string | undefined, error: ServiceError): Page =>
      keptPage(kept, email ?? "", error, plainWords(texts, error))
  }
})
