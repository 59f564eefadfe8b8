import { Context, Effect, Layer } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import Provider, { type Configuration } from "oidc-provider"
import { listening } from "./Listening.ts"

export const CLIENT = { id: "route-planner", secret: "a secret of the client: a+b/c%20=" }

interface Person {
  readonly sub: string
  readonly email: string
  readonly email_verified?: boolean | string
  readonly name?: string
}

interface Ways {
  /** The issuer has this path below its host. */
  readonly path: string
  readonly redirectUri: string
  readonly alg: "RS256" | "ES256"
  readonly authentication: "client_secret_post" | "client_secret_basic"
  /** If true, the ID token has the address, else only the response of the UserInfo endpoint. */
  readonly hasAddressInToken: boolean
  /** The provider adds these parameters to the redirect URI. */
  readonly more?: Readonly<Record<string, string>>
}

const INTERACTION = "/interaction/"

/** This OpenID Connect provider is certified. It signs everybody in as the next person, without asking. */
export class CertifiedProvider extends Context.Service<CertifiedProvider, {
  readonly issuer: string
  readonly nextIs: (person: Person) => Effect.Effect<void>
  /** Opens an address like a new browser, and returns the last address to which the provider redirects. */
  readonly visit: (address: string) => Effect.Effect<URL>
}>()("test/CertifiedProvider") {
  static readonly layer = ({ alg, authentication, hasAddressInToken, more = {}, path, redirectUri }: Ways) =>
    Layer.effect(
      CertifiedProvider,
      Effect.gen(function*() {
        const prefix = path.replace(/\/$/, "")
        const people = new Map<string, Person>()
        const next: Array<Person> = []
        let listener: RequestListener = (_, response) => void response.end()
        const port = yield* listening(createServer((request, response) => listener(below(prefix, request), response)))
        const issuer = `http://127.0.0.1:${port}${path}`
        const { privateKey } = yield* Effect.promise(() => generateKeyPair(alg, { extractable: true }))
        const key = { ...yield* Effect.promise(() => exportJWK(privateKey)), use: "sig", alg }
        const configuration: Configuration = {
          clients: [{
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: authentication,
            id_token_signed_response_alg: alg
          }],
          clientAuthMethods: [authentication],
          jwks: { keys: [key] },
          cookies: { keys: ["a key of tests"] },
          claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
          conformIdTokenClaims: !hasAddressInToken,
          features: { devInteractions: { enabled: false } },
          pkce: { required: () => true },
          interactions: { url: (_, { uid }) => `${prefix}${INTERACTION}${uid}` },
          findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
          loadExistingGrant: async ({ oidc }) => {
            const grant = new provider.Grant({
              clientId: oidc.client?.clientId ?? "",
              accountId: oidc.session?.accountId ?? ""
            })
            grant.addOIDCScope("openid email profile")
            await grant.save()
            return grant
          }
        }
        const provider = new Provider(issuer, configuration)
        const respond = provider.callback()
        listener = (request, response) => {
          const person = next.at(-1)
          if (request.url?.startsWith(INTERACTION) !== true || person === undefined) {
            void respond(request, response)
          } else {
            people.set(person.sub, person)
            void provider.interactionFinished(request, response, { login: { accountId: person.sub } })
          }
        }

        const visit = async (address: string, cookies: ReadonlyMap<string, string> = new Map()): Promise<URL> => {
          const response = await fetch(address, {
            headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
            redirect: "manual"
          })
          const location = response.headers.get("location")
          if (location === null) throw new Error(`${response.status} of ${address}: ${await response.text()}`)
          const url = new URL(location, address)
          for (const [name, value] of Object.entries(more)) {
            if (url.href.startsWith(redirectUri)) url.searchParams.set(name, value)
          }
          const set = response.headers.getSetCookie().map((cookie) => cookie.split(";")[0]?.split(/=(.*)/) ?? [])
          const known = new Map([...cookies, ...set.map(([name = "", value = ""]) => [name, value] as const)])
          return url.host === new URL(issuer).host ? visit(url.href, known) : url
        }

        return CertifiedProvider.of({
          issuer,
          nextIs: (person) => Effect.sync(() => void next.push(person)),
          visit: (address) => Effect.promise(() => visit(address))
        })
      })
    )
}

/** Strips the prefix of a request, like a router that mounts the provider below a path. */
const below = (prefix: string, request: IncomingMessage) => {
  const url = request.url ?? ""
  return Object.assign(request, { originalUrl: url, url: url.startsWith(prefix) ? url.slice(prefix.length) : url })
}
