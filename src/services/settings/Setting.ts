import { Config, ConfigProvider, Effect, Option } from "effect"
import type { SettingType } from "./SettingTypes.ts"

/** An environment variable. One with an empty value is not set. */
export interface Setting<A> {
  readonly name: string
  /** The column `default` of its row in docs/operations.md. */
  readonly otherwise: string
  readonly example: string | undefined
  readonly meaning: string
  readonly isRequired: boolean
  /** Only the programs in development/ read it. */
  readonly isForDevelopment: boolean
  readonly given: Config.Config<Option.Option<unknown>>
  readonly value: Config.Config<A>
}

interface Words {
  readonly meaning: string
  /** Undefined if the message for a wrong value lists all values. */
  readonly example?: string | undefined
  readonly isForDevelopment?: boolean
}

const made = <A, B>(
  name: string,
  own: Config.Config<A>,
  otherwise: string,
  { example, isForDevelopment = false, meaning }: Words,
  value: Config.Config<B>
): Setting<B> => ({
  name,
  otherwise,
  example,
  meaning,
  isForDevelopment,
  isRequired: otherwise === REQUIRED,
  given: Config.option(own),
  value
})

const REQUIRED = "required"

export const required = <A>(name: string, type: SettingType<A>, words: Words): Setting<A> => {
  const own = type(name)
  return made(name, own, REQUIRED, words, own)
}

/** `otherwise` describes the default in words. */
export const optional = <A>(
  name: string,
  type: SettingType<A>,
  words: Words,
  otherwise = "none"
): Setting<Option.Option<A>> => {
  const own = type(name)
  return made(name, own, otherwise, words, Config.option(own))
}

/** `otherwise` is the text of the default, as a value would be written. */
export const setting = <A>(name: string, type: SettingType<A>, otherwise: string, words: Words): Setting<A> => {
  const own = type(name)
  const defaults = ConfigProvider.fromUnknown({ [name]: otherwise })
  const value = Config.mapEffect(Config.option(own), (given) =>
    Option.match(given, {
      onSome: Effect.succeed,
      onNone: () => Effect.provideService(own, ConfigProvider.ConfigProvider, defaults)
    }))
  return made(name, own, otherwise, { example: otherwise, ...words }, value)
}

/** `derive` computes the default, and `otherwise` describes it in words. */
export const derived = <A>(
  name: string,
  type: SettingType<A>,
  otherwise: string,
  derive: Config.Config<A>,
  words: Words
): Setting<A> => {
  const own = type(name)
  const value = Config.map(
    Config.all({ given: Config.option(own), other: derive }),
    ({ given, other }) => Option.getOrElse(given, () => other)
  )
  return made(name, own, otherwise, words, value)
}
