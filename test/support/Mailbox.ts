import { Context, Effect, Layer, Option, Redacted, Ref } from "effect"
import { type Mail, Mailer } from "../../src/services/mail/Mailers.ts"
import { until } from "./Waiting.ts"

/** The mails of a test come here and reach no provider. */
export class Mailbox extends Context.Service<Mailbox, {
  readonly mails: Effect.Effect<ReadonlyArray<Mail>>
  readonly mailsTo: (email: string) => Effect.Effect<ReadonlyArray<Mail>>
  /** Returns the token in the link of the newest mail to an address, once it has arrived. */
  readonly tokenFor: (email: string) => Effect.Effect<string>
  /** Returns the token of the newest mail, once more than this many mails have arrived. */
  readonly tokenAfter: (email: string, count: number) => Effect.Effect<string>
}>()("test/Mailbox") {
  static readonly layer = Layer.effectContext(Effect.gen(function*() {
    const mails = yield* Ref.make<ReadonlyArray<Mail>>([])
    return Context.make(Mailbox, Mailbox.reading(Ref.get(mails))).pipe(
      Context.add(
        Mailer,
        Mailer.of({ send: (mail) => Ref.update(mails, (all) => [...all, mail]) })
      )
    )
  }))

  /** Returns a mailbox of mails that came some other way. */
  static readonly reading = (mails: Effect.Effect<ReadonlyArray<Mail>>) => {
    const mailsTo = (email: string) => Effect.map(mails, (all) => all.filter((mail) => mail.to === email))
    const tokenAfter = (email: string, count: number) => {
      const token = Effect.map(mailsTo(email), (all) => tokenOf(all.slice(count).at(-1)))
      return Effect.andThen(until(Effect.map(token, Option.isSome)), Effect.flatMap(token, Effect.fromOption)).pipe(
        Effect.orDie
      )
    }
    return Mailbox.of({ mails, mailsTo, tokenFor: (email) => tokenAfter(email, 0), tokenAfter })
  }
}

const tokenOf = (mail: Mail | undefined) =>
  Option.fromNullishOr(mail?.link).pipe(
    Option.flatMapNullishOr((link) => new URL(Redacted.value(link)).searchParams.get("token"))
  )
