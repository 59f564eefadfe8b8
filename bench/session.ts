import { Effect, Schema } from "effect"

/** Of every account of the benchmarks. */
export const PASSWORD = "a long enough password"

const Session = Schema.Struct({ accessToken: Schema.String })

/** The `Authorization` of a new session. */
export const signedIn = (origin: string, email: string) =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1/auth/login-email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password: PASSWORD })
    }).then((response) => response.json())
  ).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Session)),
    Effect.map(({ accessToken }) => ({ authorization: `Bearer ${accessToken}` })),
    Effect.orDie
  )

export type Credential = Effect.Success<ReturnType<typeof signedIn>>
