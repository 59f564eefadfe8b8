import { createServer } from "node:http"

/** A server of Node that does nothing else. */
createServer((_, response) => response.end(`{"status":"ok"}`)).listen(Number(process.env["PORT"]), "127.0.0.1")
