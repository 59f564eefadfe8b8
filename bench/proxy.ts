import { Agent } from "@effect/platform-node/Undici"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"

/**
 * The least that any proxy in a process of its own does: node:http and undici, the request sent on and the response sent
 * back as they are. Nothing is read, checked, limited, kept or traced.
 */
const agent = new Agent()
const origin = process.env["ROUTING_ENGINE_URL"] ?? ""

const forward = async (request: IncomingMessage, response: ServerResponse) => {
  const body = await buffer(request)
  const headers = { "content-type": "application/json" }
  const answer = await agent.request({ origin, path: request.url ?? "/", method: "POST", headers, body })
  response.writeHead(answer.statusCode, headers).end(await answer.body.text())
}

createServer((request, response) => void forward(request, response)).listen(Number(process.env["PORT"]), "127.0.0.1")
