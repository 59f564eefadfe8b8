import { Config } from "effect"

/** Where the service listens (`PORT`, 3000); 0 takes any free port. */
export const port = Config.Int("PORT").pipe(Config.withDefault(3000))

const listeningAt = Config.map(port, (port) => new URL(`http://localhost:${port}`))

/** The service's own public address (`BASE_URL`). */
export const baseUrl = Config.URL("BASE_URL").pipe(Config.orElse(() => listeningAt))

/** Where mailed links point (`APP_URL`): the front end, by default the service itself. */
export const appUrl = Config.URL("APP_URL").pipe(Config.orElse(() => baseUrl))
