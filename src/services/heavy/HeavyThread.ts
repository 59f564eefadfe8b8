import { readFile, readNewRoute, readRoutePatch } from "../routes/RouteJobs.ts"
import { joinMatches, measureShortTrace, readTrace } from "../routing/TraceJobs.ts"
import { serveJobs } from "./ServeJobs.ts"

serveJobs([readFile, readNewRoute, readRoutePatch, readTrace, measureShortTrace, joinMatches])
