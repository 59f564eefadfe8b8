import {
  ByteSize,
  Config,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Option,
  Redacted,
  Result,
  Schema,
  SchemaGetter,
  SchemaTransformation
} from "effect"
import { IpNetwork } from "effect/net"
import { statSync } from "node:fs"
import { validateHeaderName, validateHeaderValue } from "node:http"
import { checkDatabaseUrl, hasOneHost } from "../../schema/DatabaseUrls.ts"
import { inWords } from "../../schema/Limits.ts"
import { isPercentEncoded } from "../../schema/Text.ts"
import { Email } from "../../schema/User.ts"

/** `dark` replaces `light` on a dark page. */
export interface SiteColor {
  readonly light: string
  readonly dark: string
}

/** The lightest and the darkest ground below text of the colour are these, as in the style sheet of the pages. */
const GROUNDS = { light: "#eef5fc", dark: "#1d2733" } as const

/** See WCAG 2.2, 1.4.3. */
const CONTRAST = 4.5

const partOf = (color: string, at: number) => Number.parseInt(color.slice(at, at + 2), 16)

const linearOf = (color: string, at: number) => {
  const value = partOf(color, at) / 255
  return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

/** See WCAG 2.2, "relative luminance". */
const luminanceOf = (color: string) =>
  0.2126 * linearOf(color, 1) + 0.7152 * linearOf(color, 3) + 0.0722 * linearOf(color, 5)

const contrastOf = (one: string, other: string) => {
  const luminances = [luminanceOf(one), luminanceOf(other)]
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05)
}

const mixedWithWhite = (color: string, share: number) =>
  `#${
    [1, 3, 5].map((at) => {
      const part = partOf(color, at)
      return Math.round(part + (255 - part) * share).toString(16).padStart(2, "0")
    }).join("")
  }`

const SHARES = Array.from({ length: 21 }, (_, index) => index / 20)

/** Returns the least light variant that can be read on a dark page. */
const darkOf = (color: string) =>
  SHARES.map((share) => mixedWithWhite(color, share)).find((mixed) => contrastOf(mixed, GROUNDS.dark) >= CONTRAST)
    ?? "#ffffff"

/** Returns the problem of a colour: undefined for one that can be read on a light page, and white text on it. */
const colorProblem = (text: string): string | undefined => {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return "Expected a colour as in #0b5cad"
  const contrast = contrastOf(text, GROUNDS.light)
  return contrast >= CONTRAST
    ? undefined
    : `Expected a darker colour: its contrast with a light page is ${(Math.floor(contrast * 10) / 10).toFixed(1)}, `
      + `and ${CONTRAST} or more can be read (WCAG 2.2, 1.4.3)`
}

const colorFrom = (light: string): SiteColor => ({ light: light.toLowerCase(), dark: darkOf(light) })

/** Reads the text of a setting. A message names the accepted values, and never the value. */
type SettingType<A> = (name: string) => Config.Config<A>

const bySchema = <A>(schema: Schema.ConstraintCodec<A, unknown>): SettingType<A> => (name) =>
  Config.schema(schema, name)

const textThat = (isRight: (text: string) => boolean, expected: string) =>
  Schema.String.check(Schema.makeFilter((text) => isRight(text) ? undefined : expected))

export const text: SettingType<string> = (name) => Config.String(name)

export const flag: SettingType<boolean> = (name) => Config.Boolean(name)

export const secret: SettingType<Redacted.Redacted> = (name) => Config.Redacted(name)

export const whole = (minimum: number, maximum: number): SettingType<number> =>
  bySchema(Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum })))

/** `fetch` refuses these ports (Fetch Standard, "port blocking"), and browsers with it. */
const BLOCKED_PORTS = new Set(
  `1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123
   135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990
   993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080`.split(/\s+/)
    .map(Number)
)

export const fetchedPort = bySchema(Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: 65_535 }),
  Schema.makeFilter((port) => BLOCKED_PORTS.has(port) ? "Expected a port that fetch does not refuse" : undefined)
))

const isRatio = (text: string) => Number(text) >= 0 && Number(text) <= 1

export const ratio: SettingType<number> = (name) =>
  Config.map(Config.schema(textThat(isRatio, "Expected a number from 0 to 1"), name), Number)

export const oneOf = <const A extends string>(values: ReadonlyArray<A>): SettingType<A> => {
  const find = (text: string) => values.find((value) => value.toLowerCase() === text.toLowerCase())
  const expected = `Expected one of ${values.map((value) => value.toLowerCase()).join(", ")}`
  return bySchema(
    textThat((text) => find(text) !== undefined, expected).pipe(Schema.decodeTo(Schema.Literals(values), {
      decode: SchemaGetter.transformOptional((text) =>
        Option.flatMap(text, (text) => Option.fromNullishOr(find(text)))
      ),
      encode: SchemaGetter.passthroughSubtype()
    }))
  )
}

const CountableBytes = Schema.ByteSize.check(
  Schema.makeFilter((size) => size > 0 && size <= Number.MAX_SAFE_INTEGER, { expected: "a size as in 2 GiB" })
)

export const byteSize: SettingType<number> = (name) =>
  Config.map(Config.schema(CountableBytes, name), ByteSize.toNumberUnsafe)

const HttpUrl = Schema.URLFromString.check(
  Schema.makeFilter(({ protocol }) => /^https?:$/.test(protocol) ? undefined : "Expected an http or https URL")
)

export const httpUrl = bySchema(HttpUrl)

const urlWithout = (parts: string, isRight: (url: URL) => boolean) =>
  Schema.makeFilter((url: URL) => isRight(url) ? undefined : `Expected an http or https URL without ${parts}`)

const hasNoCredentials = ({ password, username }: URL) => username === "" && password === ""

const AS_ROOT = urlWithout("a query and a fragment", ({ hash, search }) => hash === "" && search === "")

/** Pages and mails have such a URL. */
const AS_PUBLIC = urlWithout("a user and a password", hasNoCredentials)

export const httpRoot = bySchema(HttpUrl.check(AS_ROOT))

export const publicUrl = bySchema(HttpUrl.check(AS_PUBLIC))

export const publicRoot = bySchema(HttpUrl.check(AS_ROOT, AS_PUBLIC))

export const databaseUrl = bySchema(
  Schema.RedactedFromValue(Schema.String.check(Schema.makeFilter(checkDatabaseUrl)))
)

export const serverUrl = bySchema(
  Schema.RedactedFromValue(textThat(hasOneHost, "Expected a postgres or postgresql URL of one host, percent-encoded"))
)

/** A URL may have commas itself. */
const urlsIn = (text: string) => text.split(/,(?=\s*[a-z]+:\/\/)/i).map((url) => url.trim())

const databaseUrlTexts = bySchema(
  Schema.RedactedFromValue(
    textThat(
      (text) => urlsIn(text).every(hasOneHost),
      "Expected postgres or postgresql URLs of one host each, percent-encoded and separated by commas"
    )
  )
)

export const databaseUrls: SettingType<ReadonlyArray<Redacted.Redacted>> = (name) =>
  Config.map(databaseUrlTexts(name), (text) => urlsIn(Redacted.value(text)).map((url) => Redacted.make(url)))

/** The URL parser keeps a percent sign without an escape (WHATWG URL, 1.3). */
const isEncoded = ({ password, username }: URL) => isPercentEncoded(username) && isPercentEncoded(password)

const hasValidCredentials = (url: URL) => isEncoded(url) && (url.username !== "" || url.password === "")

const isRedisServer = (url: URL) => /^rediss?:$/.test(url.protocol) && /^\/?\d*$/.test(url.pathname) && isEncoded(url)

export const redisUrl = bySchema(
  Schema.RedactedFromValue(
    textThat(
      (text) => URL.canParse(text) && isRedisServer(new URL(text)),
      "Expected a redis or rediss URL as in redis://:password@cache.example.com:6379/0, percent-encoded"
    )
  )
)

const isSmtpServer = ({ hostname, pathname, protocol, search }: URL) =>
  /^smtps?:$/.test(protocol) && hostname !== "" && /^\/?$/.test(pathname) && search === ""

export const smtpUrl = bySchema(Schema.RedactedFromValue(
  Schema.URLFromString.check(
    Schema.makeFilter((url) =>
      isSmtpServer(url) && hasValidCredentials(url)
        ? undefined
        : "Expected an SMTP server as in smtp://user:password@mail.example.com:587"
    )
  )
))

/** Zero would mean no timeout, or no pause, for most settings. */
export const period = (
  longest = Duration.weeks(1),
  shortest: "10 millis" | "0 seconds" = "10 millis"
): SettingType<Duration.Duration> =>
  bySchema(
    Schema.DurationFromString.check(
      Schema.makeFilter((duration) =>
        Duration.between(duration, { minimum: Duration.fromInputUnsafe(shortest), maximum: longest })
          ? undefined
          : `Expected ${shortest} to ${inWords(longest)}`
      )
    )
  )

const Listed = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform<ReadonlyArray<string>, string>({
      decode: (text) => text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)

const listOf = (isRight: (text: string) => boolean, expected: string) =>
  bySchema(Listed.pipe(Schema.decodeTo(Schema.Array(textThat(isRight, expected)))))

export const origins = listOf(
  (text) => URL.canParse(text) && new URL(text).origin === text,
  "Expected an origin as in https://app.example.com"
)

export const prefixes = listOf((text) => /^[A-Z][A-Z0-9_]{0,29}$/.test(text), "Expected a prefix as in OIDC or CLUB_2")

export const emails = listOf(Schema.is(Email), "Expected an email address as in ada@example.com")

const networkTexts = listOf(
  (text) => Result.isSuccess(IpNetwork.fromString(text)),
  "Expected a network as in 10.0.0.0/8"
)

export const networks: SettingType<ReadonlyArray<IpNetwork.IpNetwork>> = (name) =>
  Config.map(networkTexts(name), (texts) => texts.map(IpNetwork.fromStringUnsafe))

/** Control characters are refused, since they could begin further headers. */
export const sender = bySchema(
  textThat(
    (text) => /^(?:[^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(text),
    "Expected an email address as in no-reply@example.com or Routes <no-reply@example.com>"
  )
)

/** The name stands in a line of mails and pages. */
export const siteName = bySchema(
  textThat((text) => /^(?!\s*$)[^\p{Cc}\p{Cf}]{1,60}$/u.test(text), "Expected a name of 1 to 60 characters in one line")
)

export const color: SettingType<SiteColor> = (name) =>
  Config.map(Config.schema(Schema.String.check(Schema.makeFilter(colorProblem)), name), colorFrom)

export const LOGO_TYPES = { png: "image/png", svg: "image/svg+xml", webp: "image/webp" } as const

const MAX_LOGO_BYTES = 256 * 1024

export const isLogoUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url?.protocol === "https:" && hasNoCredentials(url)
}

const isLogoFile = (text: string) => {
  const type = text.split(".").at(-1) ?? ""
  const file = Result.getOrUndefined(Result.try(() => statSync(text)))
  return Object.hasOwn(LOGO_TYPES, type) && file !== undefined && file.isFile() && file.size <= MAX_LOGO_BYTES
}

export const logo = bySchema(
  textThat(
    (text) => isLogoUrl(text) || isLogoFile(text),
    "Expected an https URL without a user and a password, or the path of a file of at most 256 KiB that ends in .svg, .png or .webp"
  )
)

export const jsonOf = <A>(schema: Schema.Codec<A, unknown>): SettingType<A> => bySchema(Schema.fromJsonString(schema))

const HeadersFromJson = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const decodeHeaders = Schema.decodeUnknownResult(HeadersFromJson)

const areHeaders = (text: string) =>
  Result.isSuccess(
    Result.flatMap(decodeHeaders(text), (headers) =>
      Result.try(() =>
        Object.entries(headers).forEach(([name, value]) => {
          validateHeaderName(name)
          validateHeaderValue(name, value)
        })
      ))
  )

const mayFollowBearer = (key: string) => Result.isSuccess(Result.try(() => validateHeaderValue("authorization", key)))

export const bearerKey = bySchema(Schema.RedactedFromValue(
  textThat(mayFollowBearer, "Expected a key of characters that a header may have, without a line break at its end")
))

export const headers = bySchema(Schema.RedactedFromValue(
  textThat(areHeaders, "Expected a JSON object of header names and values").pipe(Schema.decodeTo(HeadersFromJson))
))

const areAttributes = (text: string) =>
  text.split(",").every((pair) => /^\s*[^\s=]+=/.test(pair) && isPercentEncoded(pair))

const attributesOf = (text: string) =>
  Object.fromEntries(
    text.split(",").map((pair) => {
      const [name = "", ...value] = pair.split("=")
      return [decodeURIComponent(name.trim()), decodeURIComponent(value.join("=").trim())]
    })
  )

export const attributes = bySchema(
  textThat(areAttributes, "Expected a list of name=value pairs").pipe(
    Schema.decodeTo(
      Schema.Record(Schema.String, Schema.String),
      SchemaTransformation.transform({
        decode: attributesOf,
        encode: (values) => Object.entries(values).map((pair) => pair.map(encodeURIComponent).join("=")).join(",")
      })
    )
  )
)

/** Texts for people have these languages (BCP 47). */
export const LANGUAGES = ["en", "de"] as const
export type Language = typeof LANGUAGES[number]

export const LOG_FORMATS = ["json", "pretty"] as const

export const LogFormat = Context.Reference<typeof LOG_FORMATS[number]>("route-planning-service/LogFormat", {
  defaultValue: () => "json"
})

/** An environment variable with an empty value is not set. */
export interface Setting<A> {
  readonly name: string
  /** The column `default` of docs/operations.md has this text. */
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
  /** The example is absent if the message for a wrong value lists all values. */
  readonly example?: string | undefined
  readonly isForDevelopment?: boolean
}

const REQUIRED = "required"

const made = <A, B>(
  name: string,
  type: SettingType<A>,
  otherwise: string,
  words: Words,
  valueOf: (own: Config.Config<A>) => Config.Config<B>
): Setting<B> => {
  const own = type(name)
  return {
    name,
    otherwise,
    example: undefined,
    isForDevelopment: false,
    ...words,
    isRequired: otherwise === REQUIRED,
    given: Config.option(own),
    value: valueOf(own)
  }
}

export const required = <A>(name: string, type: SettingType<A>, words: Words): Setting<A> =>
  made(name, type, REQUIRED, words, (own) => own)

export const optional = <A>(
  name: string,
  type: SettingType<A>,
  words: Words,
  otherwise = "none"
): Setting<Option.Option<A>> => made(name, type, otherwise, words, Config.option)

export const derived = <A>(
  name: string,
  type: SettingType<A>,
  otherwise: string,
  derive: Config.Config<A>,
  words: Words
): Setting<A> =>
  made(name, type, otherwise, words, (own) =>
    Config.map(
      Config.all({ given: Config.option(own), other: derive }),
      ({ given, other }) => Option.getOrElse(given, () => other)
    ))

/** `otherwise` is the text of the default, as a value would be written. */
export const setting = <A>(name: string, type: SettingType<A>, otherwise: string, words: Words): Setting<A> => {
  const defaults = ConfigProvider.fromUnknown({ [name]: otherwise })
  const value = Effect.provideService(type(name), ConfigProvider.ConfigProvider, defaults)
  const other = Config.mapEffect(Config.succeed(name), () => value)
  return derived(name, type, otherwise, other, { example: otherwise, ...words })
}
