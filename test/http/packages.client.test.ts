import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import {
  batch,
  type ChangePage,
  type Client,
  ConnectionError,
  makeClient,
  pages,
  ServiceError,
  sync
} from "../../packages/client/src/index.ts"
import { clientContract } from "../../tools/ClientContract.ts"
import { newEmail, signedIn } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { served } from "../support/OpenApi.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const ROOT = join(import.meta.dirname, "../..")

const MAX_BYTES = 60 * 1024

const ride = { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }] } as const

const writer = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const { token } = yield* mint(yield* signedIn, "write")
  return makeClient({ baseUrl: origin, token })
})

const run = promisify(execFile)

const STRICT =
  "--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --allowImportingTsExtensions --module nodenext "
  + "--target es2024 --lib es2024,dom,dom.iterable,dom.asynciterable"

const failureOf = async (call: Promise<unknown>) => {
  try {
    return await call
  } catch (error) {
    return error
  }
}

layer(TestServer.layer())("the client package", (it) => {
  it.effect("stores, reads, changes and deletes, with the headers of responses where they are needed", () =>
    Effect.gen(function*() {
      const client = yield* writer
      yield* Effect.promise(async () => {
        const made = await client.routes.create({
          payload: { ...ride, geometry: [[9.5, 47.1, 455.25], [9.53, 47.15]] }
        })
        const { data, response } = await client.routes.get.response({ params: { ref: made.id } })
        assert.deepStrictEqual(data, made)
        const etag = response.headers.get("ETag") ?? ""
        const change = { params: { ref: made.id }, headers: { "If-Match": etag }, payload: { name: "Renamed" } }
        assert.strictEqual((await client.routes.update(change)).name, "Renamed")
        const stale = await failureOf(client.routes.update(change))
        assert.instanceOf(stale, ServiceError)
        assert.deepInclude(stale, { statusCode: 409, code: "CONFLICT" })
        const gpx = await client.files.gpx({ params: { ref: made.id } })
        assert.include(gpx, "<gpx")
        const fit = await client.files.fit({ params: { ref: made.id } })
        assert.instanceOf(fit, Uint8Array)
        const again = await client.files.import({ query: { dryRun: "true" }, payload: gpx })
        assert.deepInclude(again, { format: "gpx", trackCount: 1 })
        const unconfirmed = await failureOf(client.routes.remove({ params: { ref: made.id } }))
        assert.deepInclude(unconfirmed, { statusCode: 428 })
        const confirmed = { params: { ref: made.id }, headers: { "X-Service-Confirm": "true" } }
        assert.deepStrictEqual(await client.routes.remove(confirmed), { success: true })
      })
    }))

  it.effect("reads a list page after page, does many operations, and keeps a copy of the account", () =>
    Effect.gen(function*() {
      const client = yield* writer
      yield* Effect.promise(async () => {
        const operations = Array.from({ length: 101 }, () => ({ op: "create", route: ride } as const))
        const results = await batch(client, operations, { idempotencyKey: "all" })
        assert.deepStrictEqual(new Set(results.map(({ status }) => status)), new Set([201]))
        const listed: Array<number> = []
        const list = pages((page) => client.routes.list.response({ query: { limit: 40, geometry: "none", ...page } }))
        for await (const { id } of list) listed.push(id)
        assert.strictEqual(new Set(listed).size, 101)
        const byOffset = pages((page) => client.routes.list.response({ query: { limit: 40, offset: 40, ...page } }))
        assert.match(String(await failureOf(byOffset.next())), /offset/)

        const kept = new Set<number>()
        let cursor: string | undefined
        const store = {
          cursor: () => cursor,
          apply: (page: ChangePage) => {
            for (const { change, id } of page.changes) {
              if (change === "deleted") kept.delete(id)
              else kept.add(id)
            }
            cursor = page.cursor
          },
          reset: () => kept.clear()
        }
        await sync(client, store, { limit: 50 })
        assert.deepStrictEqual(kept, new Set(listed))
        await batch(client, listed.slice(1).map((id) => ({ op: "delete", id })), { confirm: true })
        await sync(client, store)
        assert.deepStrictEqual(kept, new Set(listed.slice(0, 1)))
      })
    }))

  it.effect("names by $n what any earlier operation of a long batch has made", () =>
    Effect.gen(function*() {
      const client = yield* writer
      yield* Effect.promise(async () => {
        const create = { op: "create", route: { ...ride, visibility: "unlisted" } } as const
        const routes = Array.from({ length: 99 }, () => create)
        const results = await batch(client, [
          ...routes,
          { op: "createCollection", collection: { name: "All", routeIds: ["$1", "$0"] } },
          create,
          { op: "createLink", routeId: "$0", link: { label: "First" } },
          { op: "addToCollection", collectionId: "$99", routeId: "$100" },
          { op: "createLink", routeId: "$99", link: {} },
          { op: "createLink", routeId: "$101", link: {} }
        ], { confirm: true })
        const [first = 0, second = 0, ...others] = results.map(({ route }) => route?.id ?? 0)
        assert.deepStrictEqual(results.slice(-5).map(({ status }) => status), [201, 201, 200, 404, 404])
        const links = await client.links.listOfRoute({ params: { id: first } })
        assert.deepStrictEqual(links.map(({ label }) => label), ["First"])
        const [collection] = await client.collections.list()
        assert.deepStrictEqual(collection?.routeIds, [second, first, others[98] ?? 0])
      })
    }))

  it.effect("does what its document shows", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      const folder = yield* temporaryDirectory
      const shown = readFileSync(join(ROOT, "packages/client/README.md"), "utf8").split("```")[1] ?? ""
      const program = shown.replace(/^ts\n/, "")
        .replace("\"route-planning-service-client\"", JSON.stringify(join(ROOT, "packages/client/src/index.ts")))
        .replace("https://routes.example.com", origin)
        .replace("service_pat_...", token)
      writeFileSync(join(folder, "shown.mts"), program)
      const tsc = join(ROOT, "node_modules/typescript/bin/tsc")
      yield* Effect.promise(async () => {
        const checked = run(process.execPath, [tsc, ...STRICT.split(" "), "shown.mts"], { cwd: folder })
        assert.strictEqual((await checked.catch((error) => error)).stdout, "")
        await run(process.execPath, ["shown.mts"], { cwd: folder })
      })
      assert.include(JSON.stringify((yield* rider.get("/routes")).body), "\"name\":\"Around Vaduz by night\"")
    }))

  it.effect("signs in, has the token of the session, and signs out", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const client = makeClient({ baseUrl: origin })
      const email = newEmail()
      const payload = { email, password: "correct horse of a package" }
      yield* Effect.promise(() => client.auth.signUp({ payload }))
      const token = yield* (yield* Mailbox).tokenFor(email)
      yield* Effect.promise(async () => {
        await client.auth.verifyEmail({ payload: { token } })
        assert.isString(client.token())
        assert.strictEqual((await client.users.me()).email, email)
        await client.auth.logOut()
        assert.isUndefined(client.token())
        assert.deepInclude(await failureOf(client.users.me()), {
          statusCode: 401,
          message: "Sign in first, or send Authorization: Bearer and a token"
        })
      })
    }))
})

const TOO_LARGE = { statusCode: 413, code: "VALIDATION_FAILED", message: "The body is too large", details: {} }

/** In place of a status it stands for a response of which the connection breaks within the body. */
const CUT = 1

const KEY_IN_USE = JSON.stringify({ details: { reason: "key_in_use" } })

/** Responds with the statuses in turn, the last one for ever, and counts the requests. */
const withServer = async (
  statuses: ReadonlyArray<number>,
  use: (baseUrl: string) => Promise<void>
): Promise<number> => {
  let requests = 0
  const server = createServer((request, response) => {
    const status = statuses[Math.min(requests++, statuses.length - 1)] ?? 200
    request.resume()
    const headers = { "Content-Type": "application/json", "Retry-After": "0" }
    if (status === 0) response.destroy()
    else if (status === CUT) {
      response.writeHead(200, { ...headers, "Content-Length": "9" }).write("{\"id\"", () => response.destroy())
    } else response.writeHead(status, headers).end(status === 409 ? KEY_IN_USE : "{}")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  assert(address !== null && typeof address === "object")
  await use(`http://127.0.0.1:${address.port}`)
  server.closeAllConnections()
  server.close()
  return requests
}

describe("the client package on a bad day", () => {
  const payload = ride

  it("repeats what may be repeated after a broken connection and 503, and what was limited", async () => {
    for (const statuses of [[0, 200], [CUT, 200], [503, 200], [429, 200]]) {
      const requests = await withServer(statuses, async (baseUrl) => {
        await makeClient({ baseUrl }).routes.list()
      })
      assert.strictEqual(requests, 2)
    }
    const keyed = await withServer([503, 0, 409, 201], async (baseUrl) => {
      await makeClient({ baseUrl }).routes.create({ headers: { "Idempotency-Key": "once" }, payload })
    })
    assert.strictEqual(keyed, 4)
  })

  it("sends a form again as it was", async () => {
    const sent: Array<readonly [type: string | null, text: string]> = []
    const client = makeClient({
      baseUrl: "http://localhost",
      fetch: async (...request) => {
        const received = new Request(...request)
        sent.push([received.headers.get("Content-Type"), await received.text()])
        return Response.json({}, { status: sent.length === 1 ? 503 : 201 })
      }
    })
    const form = new FormData()
    form.append("file", new Blob(["<gpx/>"]), "ride.gpx")
    await client.files.import({ headers: { "Idempotency-Key": "once" }, payload: form })
    assert.strictEqual(sent.length, 2)
    assert.match(sent[0]?.[0] ?? "", /^multipart\/form-data; *boundary=/)
    assert.include(sent[0]?.[1], "<gpx/>")
    assert.deepStrictEqual(sent[1], sent[0])
  })

  it("sends a write without a key once, gives up after its retries, and stops when it is aborted", async () => {
    const write = await withServer([503], async (baseUrl) => {
      const failure = await failureOf(makeClient({ baseUrl }).routes.create({ payload }))
      assert.deepInclude(failure, { statusCode: 503 })
    })
    assert.strictEqual(write, 1)
    const ref = { params: { ref: 1 } }
    const calls: ReadonlyArray<(client: Client) => Promise<unknown>> = [
      ({ collections }) => collections.remove(ref),
      ({ collections }) =>
        collections.setRoutes({ ...ref, headers: { "If-Match": "\"1\"" }, payload: { routeIds: [] } })
    ]
    for (const call of calls) {
      const once = await withServer([0, 404], async (baseUrl) => {
        assert.instanceOf(await failureOf(call(makeClient({ baseUrl }))), ConnectionError)
      })
      assert.strictEqual(once, 1)
    }
    for (const status of [0, CUT]) {
      const broken = await withServer([status], async (baseUrl) => {
        assert.instanceOf(await failureOf(makeClient({ baseUrl, retries: 2 }).routes.list()), ConnectionError)
      })
      assert.strictEqual(broken, 3)
    }
    await withServer([0], async (baseUrl) => {
      const signal = AbortSignal.abort(new Error("enough"))
      assert.deepInclude(await failureOf(makeClient({ baseUrl }).routes.list({}, { signal })), { message: "enough" })
    })
  })

  it("gives up what stays limited, though the service names no time to wait", async () => {
    const limited = await withServer([429], async (baseUrl) => {
      const signal = AbortSignal.timeout(10_000)
      const failure = await failureOf(makeClient({ baseUrl, retryTimeout: 600 }).routes.list({}, { signal }))
      assert.deepInclude(failure, { statusCode: 429 })
    })
    assert.strictEqual(limited, 3)
  })

  it("calls a service below a path there", async () => {
    const called: Array<string> = []
    for (const path of ["", "/", "/planner", "/planner/", "/planner?from=mail"]) {
      const recorded: typeof fetch = async (url) => {
        called.push(new Request(url).url)
        return Response.json([])
      }
      await makeClient({ baseUrl: `http://localhost${path}`, fetch: recorded }).routes.list({ query: { q: "alp" } })
    }
    assert.deepStrictEqual(
      called,
      ["", "", "/planner", "/planner", "/planner"].map((path) => `http://localhost${path}/api/v1/routes?q=alp`)
    )
  })

  it("sends no more than 8 MiB of a long batch at a time, and goes on after an operation that is larger", async () => {
    const lengths: Array<readonly [count: number, isSmall: boolean]> = []
    const client = makeClient({
      baseUrl: "http://localhost",
      fetch: async (_, init) => {
        const body = String(init?.body)
        const { operations } = JSON.parse(body)
        const isSmall = Buffer.byteLength(body) < 8 * 1024 * 1024
        lengths.push([operations.length, isSmall])
        if (!isSmall) return Response.json(TOO_LARGE, { status: 413 })
        return Response.json({ results: operations.map(() => ({ op: "create", status: 201 })) })
      }
    })
    const route = (bytes: number) => ({ op: "create", route: { ...ride, description: "€".repeat(bytes / 3) } } as const)
    const sizes = [7e6, 1e6, 1e6, 1e6, 1e6, 1e6, 9e6, 1e6, 7e6]
    const results = await batch(client, sizes.map(route))
    assert.deepStrictEqual(results[6], { op: "create", status: 413, error: TOO_LARGE })
    assert.deepStrictEqual(results.map(({ status }) => status), sizes.map((bytes) => bytes === 9e6 ? 413 : 201))
    assert.deepStrictEqual(lengths, [[1, true], [4, true], [1, true], [1, false], [1, true], [1, true]])
  })

  it("keeps the account that it has signed in to, and none after signing out, whatever a call from before brings", async () => {
    let waiting = Promise.withResolvers<Response>()
    const client = makeClient({
      baseUrl: "http://localhost",
      token: "ada",
      fetch: (url) => {
        const { pathname } = new URL(new Request(url).url)
        if (pathname.endsWith("/sync")) return waiting.promise
        return Promise.resolve(Response.json(pathname.endsWith("/logout") ? {} : { accessToken: "bob" }))
      }
    })
    const payload = { email: "bob@example.com", password: "correct horse of a package" }
    const calls = [() => client.users.me(), () => client.auth.logIn({ payload }), () => client.auth.logOut()]
    const tokens: Array<string | undefined> = []
    for (const call of calls) {
      waiting = Promise.withResolvers<Response>()
      const poll = client.sync.list({ query: { wait: 30 } })
      await call()
      waiting.resolve(Response.json({}, { headers: { "X-Access-Token": "ada's next" } }))
      await poll
      tokens.push(client.token())
    }
    assert.deepStrictEqual(tokens, ["ada's next", "bob", undefined])
  })

  it("is generated from the contract, as is docs/openapi.json", () => {
    assert.strictEqual(readFileSync(join(ROOT, "packages/client/src/contract.ts"), "utf8"), clientContract())
    assert.deepStrictEqual(JSON.parse(readFileSync(join(ROOT, "docs/openapi.json"), "utf8")), served)
  })

  it("has less than 60 KB in a bundle, and needs nothing of Node.js", async () => {
    const bundle = await rolldown({ input: join(ROOT, "packages/client/src/index.ts"), platform: "browser" })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    assert.strictEqual(output.length, 1)
    assert.deepStrictEqual(output[0].imports, [])
    assert.isBelow(output[0].code.length, MAX_BYTES)
  })
})
