import { readProfile } from "../archive/DecodedFiles.ts"
import { readCollections, readRoutes } from "../archive/ListJobs.ts"
import { readManifest } from "../archive/Manifests.ts"
import { readEncodedLine } from "../routes/EncodedLine.ts"
import { readFile, writeFitFile } from "../routes/FileJobs.ts"
import { readNewRoute, readRoutePatch } from "../routes/RouteJobs.ts"
import { readRoadless, readTrip, readWays } from "../routing/RouteJobs.ts"
import { checkMatch, joinMatches, measureShortTrace, readTrace } from "../routing/TraceJobs.ts"
import { serveJobs } from "./ServeJobs.ts"

serveJobs([
  checkMatch,
  joinMatches,
  measureShortTrace,
  readCollections,
  readEncodedLine,
  readFile,
  readManifest,
  readNewRoute,
  readProfile,
  readRoadless,
  readRoutePatch,
  readRoutes,
  readTrace,
  readTrip,
  readWays,
  writeFitFile
])
