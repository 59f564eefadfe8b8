import { readFile, splitRouteBody } from "../routes/RouteJobs.ts"
import { serveJobs } from "./ServeJobs.ts"

serveJobs([readFile, splitRouteBody])
