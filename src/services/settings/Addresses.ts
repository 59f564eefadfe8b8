import { Config, Option } from "effect"
import { httpRoot, httpUrl, whole } from "./SettingTypes.ts"

/** 0 takes any free port. */
export const port = whole(0, 65_535, "PORT").pipe(Config.withDefault(3000))

export const host = Config.String("HOST").pipe(Config.withDefault("0.0.0.0"))

/** A malformed value is an error; only a missing one has a default. */
const orElse = (given: Config.Config<Option.Option<URL>>, other: Config.Config<URL>) =>
  Config.map(Config.all({ given, other }), ({ given, other }) => Option.getOrElse(given, () => other))

const listeningAt = Config.map(port, (port) => new URL(`http://localhost:${port}`))

export const baseUrl = orElse(Config.option(httpRoot("BASE_URL")), listeningAt)

export const pagesEnabled = Config.Boolean("PAGES_ENABLED").pipe(Config.withDefault(true))

/** The default is true except in production. */
export const docsEnabled = Config.all({
  enabled: Config.option(Config.Boolean("API_DOCS_ENABLED")),
  environment: Config.String("NODE_ENV").pipe(Config.withDefault(""))
}).pipe(Config.map(({ enabled, environment }) => Option.getOrElse(enabled, () => environment !== "production")))

export const mapStyleUrl = Config.option(httpUrl("MAP_STYLE_URL"))

/** The front end that mailed links point to. */
export const appUrl = orElse(Config.option(httpRoot("APP_URL")), baseUrl)
