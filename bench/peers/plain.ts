import { createServer } from "node:http"

/** This server of Node does nothing else. */
createServer((_, response) => response.end(`{"status":"ok"}`)).listen(Number(process.env["PORT"]), "127.0.0.1")
