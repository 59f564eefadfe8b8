import { readFile } from "node:fs/promises"
import { createServer } from "node:http"

/** The least that any server of these responses does: the bytes are there, a body is read and forgotten. */
const answer = await readFile(process.env["READ_ANSWER"] ?? "")
const stored = await readFile(process.env["WRITE_ANSWER"] ?? "")

createServer((request, response) => {
  const [status, bytes] = request.method === "POST" ? [201, stored] as const : [200, answer] as const
  request.resume().on("end", () => {
    response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length }).end(bytes)
  })
}).listen(Number(process.env["PORT"]), "127.0.0.1")
