import { Schema } from "effect"
import { MAX_ROUTES, NewCollection } from "./Collection.ts"
import { ErrorDetails } from "./ErrorDetails.ts"
import { CollectionId, RouteId } from "./Ids.ts"
import { ImportWarning } from "./Import.ts"
import { Count } from "./Measures.ts"
import { named } from "./Named.ts"
import { knownQuery } from "./Page.ts"
import { Visibility } from "./Resource.ts"
import { TagFilter } from "./Route.ts"

/** The files of a ZIP unpack to at most these bytes, with those of nested ones and of gzip. */
export const MAX_UNPACKED_ROUTES = 8 * 1024 * 1024 * 1024

export const ZipImportQuery = knownQuery({
  duplicates: Schema.optionalKey(
    Schema.Literals(["skip", "allow"]).annotate({
      description:
        "`allow` also imports what has the source or the positions of an own route, which is skipped if absent"
    })
  ),
  visibility: Schema.optionalKey(Visibility.annotate({ description: "Who may see the routes; `private` if absent" })),
  tags: Schema.optionalKey(TagFilter.annotate({ description: "A tag for all of the routes; repeat it for several" })),
  collection: Schema.optionalKey(
    NewCollection.fields.name.annotate({
      description: "The name of the own collection for all of the routes, which is made if there is none"
    })
  )
})
export type ZipImportQuery = typeof ZipImportQuery.Type

const file = Schema.String.annotate({
  description: "Its name in the archive; that of a nested archive and a slash come before"
})

const duplicateOf = Schema.Array(RouteId).annotate({ description: "The own routes that its tracks repeat" })

const OUTCOME = { description: "What this line says" }

const Begun = Schema.Struct({
  outcome: Schema.Literal("begun").annotate(OUTCOME),
  files: Count.annotate({ description: "How many files the archive has; those of nested archives come on top" })
}).annotate(named("ZipImportBegun", "The first line of an import.", { outcome: "begun", files: 3 }))

const Imported = Schema.Struct({
  outcome: Schema.Literal("imported").annotate(OUTCOME),
  file,
  routeIds: Schema.Array(RouteId).annotate({ description: "The routes that were made of it" }),
  duplicateOf: Schema.optionalKey(duplicateOf),
  warnings: Schema.optionalKey(
    Schema.Array(ImportWarning).annotate({ description: "What was changed or left out, if anything was" })
  )
}).annotate(named("ZipImportRoutes", "A file that is imported.", {
  outcome: "imported",
  file: "activities/1.fit.gz",
  routeIds: [RouteId.make(12)]
}))

const Duplicated = Schema.Struct({ outcome: Schema.Literal("duplicate").annotate(OUTCOME), file, duplicateOf })
  .annotate(named("ZipImportDuplicate", "A file that the account has already.", {
    outcome: "duplicate",
    file: "activities/2.gpx",
    duplicateOf: [RouteId.make(7)]
  }))

const Skipped = Schema.Struct({
  outcome: Schema.Literal("skipped").annotate(OUTCOME),
  file,
  reason: Schema.String.annotate({ description: "Why, for people" })
}).annotate(named("ZipImportSkipped", "A file of which nothing is stored.", {
  outcome: "skipped",
  file: "media/1.jpg",
  reason: "its name is not that of a route file"
}))

const Ended = Schema.Struct({
  outcome: Schema.Literal("ended").annotate(OUTCOME),
  imported: Count.annotate({ description: "How many files were imported" }),
  duplicates: Count.annotate({ description: "How many files the account had already" }),
  skipped: Count.annotate({ description: "How many files were skipped" }),
  collectionId: Schema.optionalKey(CollectionId.annotate({ description: "The collection of the routes" })),
  notCollected: Schema.optionalKey(
    Count.annotate({ description: `How many routes it has no room for: a collection has at most ${MAX_ROUTES}` })
  )
}).annotate(named("ZipImportEnded", "The last line of an import that read every file.", {
  outcome: "ended",
  imported: 1,
  duplicates: 1,
  skipped: 1
}))

const Stopped = Schema.Struct({
  outcome: Schema.Literal("stopped").annotate(OUTCOME),
  statusCode: Schema.Int.annotate({ description: "The status that a response would have" }),
  message: Schema.String.annotate({ description: "Why, for people" }),
  details: Schema.optionalKey(ErrorDetails)
}).annotate(
  named("ZipImportStopped", "The last line of an import that could not go on: the same archive may be sent again.", {
    outcome: "stopped",
    statusCode: 503,
    message: "The service is shutting down"
  })
)

export const ZipImportLine = Schema.Union([Begun, Imported, Duplicated, Skipped, Ended, Stopped]).annotate(
  named("ZipImportLine", "A line of the response to an archive of route files.", {
    outcome: "imported",
    file: "activities/1.fit.gz",
    routeIds: [RouteId.make(12)]
  })
)
export type ZipImportLine = typeof ZipImportLine.Type
