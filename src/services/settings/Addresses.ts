import { Config, Option } from "effect"
import { httpRoot, whole } from "./SettingTypes.ts"

/** Where the service listens (`PORT`, 3000); 0 takes any free port. */
export const port = whole(0, 65_535, "PORT").pipe(Config.withDefault(3000))

/** The address that it listens on (`HOST`). */
export const host = Config.String("HOST").pipe(Config.withDefault("0.0.0.0"))

/** What is wrong is refused; only what is missing is made up for. */
const orElse = (given: Config.Config<Option.Option<URL>>, other: Config.Config<URL>) =>
  Config.map(Config.all({ given, other }), ({ given, other }) => Option.getOrElse(given, () => other))

const listeningAt = Config.map(port, (port) => new URL(`http://localhost:${port}`))

/** The service's own public address (`BASE_URL`). */
export const baseUrl = orElse(Config.option(httpRoot("BASE_URL")), listeningAt)

/** Where mailed links point (`APP_URL`): the front end, by default the service itself. */
export const appUrl = orElse(Config.option(httpRoot("APP_URL")), baseUrl)
