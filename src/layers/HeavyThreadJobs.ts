import "effect/schema/SchemaJITCompiler/enable"
import { readProfile } from "../services/archive/DecodedFiles.ts"
import { checkCollections, checkRoutes, readCollections, readRoutes } from "../services/archive/Lists.ts"
import { readManifest } from "../services/archive/Manifests.ts"
import { readRouteBatch } from "../services/batches/BatchJobs.ts"
import { readPolyline6 } from "../services/geometry/Polyline6Reader.ts"
import { measureProfile } from "../services/geometry/Profiles.ts"
import { serveJobs } from "../services/heavy/ServeJobs.ts"
import { drawPng, drawSvg } from "../services/pictures/PictureJobs.ts"
import { readFile, writeFitFile } from "../services/routes/FileJobs.ts"
import { readBareLine, readNewRoute, readRoutePatch } from "../services/routes/RouteJobs.ts"
import { cutRoute } from "../services/routes/ZoneCut.ts"
import { fillHeights, readBare, readHeights } from "../services/routing/ElevationJobs.ts"
import { checkMatch, joinMatches, measureShortTrace, readTrace } from "../services/routing/TraceJobs.ts"
import { readRoadless, readTrip, readWays } from "../services/routing/TripJobs.ts"

serveJobs([
  checkCollections,
  checkMatch,
  checkRoutes,
  cutRoute,
  drawPng,
  drawSvg,
  joinMatches,
  measureShortTrace,
  fillHeights,
  measureProfile,
  readBare,
  readBareLine,
  readCollections,
  readPolyline6,
  readFile,
  readHeights,
  readManifest,
  readNewRoute,
  readProfile,
  readRoadless,
  readRouteBatch,
  readRoutePatch,
  readRoutes,
  readTrace,
  readTrip,
  readWays,
  writeFitFile
])
