import { readProfile } from "../archive/DecodedFiles.ts"
import { readCollections, readRoutes } from "../archive/ListJobs.ts"
import { readManifest } from "../archive/Manifests.ts"
import { readFile, readNewRoute, readRoutePatch } from "../routes/RouteJobs.ts"
import { joinMatches, measureShortTrace, readTrace } from "../routing/TraceJobs.ts"
import { serveJobs } from "./ServeJobs.ts"

serveJobs([
  joinMatches,
  measureShortTrace,
  readCollections,
  readFile,
  readManifest,
  readNewRoute,
  readProfile,
  readRoutePatch,
  readRoutes,
  readTrace
])
