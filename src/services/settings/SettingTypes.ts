import { ByteSize, Config, Duration, Result, Schema, SchemaTransformation } from "effect"
import { IpNetwork } from "effect/net"
import { Email } from "../../schema/User.ts"

export const whole = (minimum: number, maximum: number, name: string) =>
  Config.schema(Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum })), name)

const CountableBytes = Schema.ByteSize.check(
  Schema.makeFilter((size) => size > 0 && size <= Number.MAX_SAFE_INTEGER, { expected: "a size as in 2 GiB" })
)

export const byteSize = (name: string, otherwise: ByteSize.Input) =>
  Config.schema(CountableBytes, name).pipe(
    Config.withDefault(ByteSize.fromInputUnsafe(otherwise)),
    Config.map(ByteSize.toNumberUnsafe)
  )

const HttpUrl = Schema.URLFromString.check(
  Schema.makeFilter(({ protocol }) => /^https?:$/.test(protocol) ? undefined : "Expected an http or https URL")
)

export const httpUrl = (name: string) => Config.schema(HttpUrl, name)

const HttpRoot = HttpUrl.check(
  Schema.makeFilter(({ hash, search }) =>
    hash === "" && search === "" ? undefined : "Expected an http or https URL without a query and a fragment"
  )
)

export const httpRoot = (name: string) => Config.schema(HttpRoot, name)

const SHORTEST = Duration.millis(10)

/** Zero would mean no timeout, or no pause. */
export const period = (name: string, longest = Duration.weeks(1)) =>
  Config.schema(
    Schema.DurationFromString.check(
      Schema.makeFilter((duration) =>
        Duration.between(duration, { minimum: SHORTEST, maximum: longest })
          ? undefined
          : `Expected ${Duration.format(SHORTEST)} to ${Duration.format(longest)}`
      )
    ),
    name
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

const Origin = Schema.String.check(
  Schema.makeFilter((text) =>
    URL.canParse(text) && new URL(text).origin === text ? undefined : "Expected an origin as in https://app.example.com"
  )
)

export const origins = (name: string) => Config.schema(Listed.pipe(Schema.decodeTo(Schema.Array(Origin))), name)

const isEmail = Schema.is(Email)

export const EmailList = Listed.pipe(
  Schema.decodeTo(
    Schema.Array(
      Schema.String.check(
        Schema.makeFilter((text) => isEmail(text) ? undefined : "Expected an email address as in ada@example.com")
      )
    )
  )
)

const Network = Schema.String.check(
  Schema.makeFilter((text) =>
    Result.isSuccess(IpNetwork.fromString(text)) ? undefined : "Expected a network as in 10.0.0.0/8"
  )
)

export const networks = (name: string) =>
  Config.schema(Listed.pipe(Schema.decodeTo(Schema.Array(Network))), name).pipe(
    Config.map((texts) => texts.map(IpNetwork.fromStringUnsafe))
  )
