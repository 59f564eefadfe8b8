import { Effect } from "effect"
import type { BoundingBox, Position, Segments } from "../../schema/Geometry.ts"
import { type Dropped, type FileFormat, type ImportWarning, MAX_TRACKS } from "../../schema/Import.ts"
import type { Maneuver } from "../../schema/Maneuver.ts"
import type { Activity } from "../../schema/Preferences.ts"
import type { Waypoint } from "../../schema/Route.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { boundsOf, coordinatesOf, lineMetres, metresBetween, radians } from "../geometry/Geodesy.ts"
import { type Measures, type OwnMeasures, type Recording, sumOf } from "./FileValues.ts"
import { NearestPositions } from "./NearestPositions.ts"

export type TextFormat = Exclude<FileFormat, "fit">

export interface RouteDocument {
  readonly name: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly activity?: Activity
  readonly waypoints: ReadonlyArray<Waypoint>
  readonly geometry: ReadonlyArray<Position>
  readonly segments?: Segments
  readonly cues?: ReadonlyArray<Maneuver>
}

/** `createdAt` is ISO 8601. */
export type WrittenRoute = RouteDocument & Measures & { readonly createdAt?: string }

export const UNUSED = "a route has no place for it"
export const OTHER_SHAPE = "a route has a line and points only"
export const NO_GEOMETRY = "it has no geometry"

export const droppedIf = (count: number, what: string, why: string): ReadonlyArray<Dropped> =>
  count === 0 ? [] : [{ what, why, count }]

/** Reports what points have that waypoints lack. */
export const droppedOfPoints = (
  descriptions: ReadonlyArray<string | undefined>,
  elevations: number
): ReadonlyArray<Dropped> => [
  ...droppedIf(
    descriptions.filter((text = "") => text.trim() !== "").length,
    "descriptions of waypoints",
    "a waypoint has no description"
  ),
  ...droppedIf(elevations, "elevations of waypoints", "a waypoint has no elevation")
]

export interface ReadRoute {
  readonly document: RouteDocument
  /** These measures differ from those of the stored polyline. */
  readonly measures: Measures
  readonly dropped: ReadonlyArray<Dropped>
  readonly warnings: ReadonlyArray<ImportWarning>
}

export interface DraftWaypoint {
  readonly coord: readonly [lng: number, lat: number]
  readonly type: string | undefined
  readonly name: string | undefined
  readonly timestamp: string | undefined
  /** Another program wrote this cue as a point of this type; `finish` finds its place on the line. */
  readonly turn?: number | undefined
}

/** The first name and description with a text count. */
interface About {
  readonly names: ReadonlyArray<string | undefined>
  readonly descriptions: ReadonlyArray<string | undefined>
  readonly tags: ReadonlyArray<string>
  readonly activity: string | undefined
  readonly waypoints: ReadonlyArray<DraftWaypoint>
  /** Files that this service wrote have these and `measures`. */
  readonly cues?: ReadonlyArray<Maneuver>
  readonly measures?: OwnMeasures | undefined
}

export const NOTHING_SAID: About = { names: [], descriptions: [], tags: [], activity: undefined, waypoints: [] }

export interface DraftTrack extends About, Recording {
  /** Recorded parts have gaps between them. None is empty. */
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  readonly file?: string | undefined
  /** If the track is one of several files, this is what its file has beside it. */
  readonly dropped?: ReadonlyArray<Dropped>
}

/** `creator` is the program that wrote the file, `links` are the pages that it is about. */
export interface FileOrigin {
  readonly creator: string | undefined
  readonly links: ReadonlyArray<string>
}

export const NO_ORIGIN: FileOrigin = { creator: undefined, links: [] }

export interface DraftFile extends About {
  readonly tracks: ReadonlyArray<DraftTrack>
  readonly dropped: ReadonlyArray<Dropped>
  /** No file of a track has this part of `dropped`. */
  readonly unread?: ReadonlyArray<Dropped>
  readonly origin?: FileOrigin
}

export const NO_POSITIONS = "it has no positions"

/** Names a track in what is reported of it; `finish` limits the name that is stored. */
const MAX_TITLE = 64
export const titleOf = (kind: string, names: ReadonlyArray<string | undefined>): string => {
  const name = names.map((name) => name?.trim()).find((name) => name !== undefined && name !== "")
  return name === undefined ? kind : `${kind} ${name.slice(0, MAX_TITLE).toWellFormed()}`
}

export const droppedEmpty = (kind: string, names: ReadonlyArray<string | undefined>): Dropped => ({
  what: titleOf(kind, names),
  why: NO_POSITIONS,
  count: 1
})

const isEmpty = ({ segments, waypoints }: DraftTrack) => segments.length === 0 && waypoints.length === 0

/** Leaves out and names tracks without positions; one stays where there is nothing else. */
export const withoutEmptyTracks = (file: DraftFile): DraftFile => {
  if (file.tracks.length < 2) return file
  const found = file.tracks.filter((track) => !isEmpty(track))
  const tracks = found.length === 0 ? file.tracks.slice(0, 1) : found
  const empty = file.tracks.filter((track) => isEmpty(track) && track !== tracks[0])
  return { ...file, tracks, dropped: [...file.dropped, ...empty.map(({ names }) => droppedEmpty("track", names))] }
}

const MAX_REASONS = 3

export const noPoints = (dropped: ReadonlyArray<Dropped>): InvalidInput => {
  const reasons = dropped.filter(({ why }) => why === OTHER_SHAPE || why === NO_GEOMETRY).slice(0, MAX_REASONS)
  return InvalidInput.at(
    "",
    ["The file has no points", ...reasons.map(({ what, why }) => `${what}: ${why}`)].join("; ")
  )
}

export interface Draft extends DraftTrack {
  readonly dropped: ReadonlyArray<Dropped>
}

export interface TrackChoice {
  readonly split: boolean
  readonly join: boolean
  readonly track: number | undefined
}

/** `distance` is in metres without gaps. */
export interface TrackSummary {
  readonly index: number
  readonly name: string
  readonly file: string | undefined
  readonly positions: number
  readonly distance: number
  readonly bounds: BoundingBox | undefined
  readonly start: Position | undefined
}

const metresTo = ([lng, lat]: readonly [number, number], position: Position | undefined) =>
  position === undefined ? Infinity : metresBetween(lng, lat, position[0], position[1])

const nearestTracks = (tracks: ReadonlyArray<DraftTrack>, waypoints: ReadonlyArray<DraftWaypoint>) => {
  const lines = tracks.map(({ segments }) => segments.flat())
  const searches = lines.map((line) => new NearestPositions(line, waypoints.length))
  return waypoints.map(({ coord }) => {
    const metres = searches.map((search, index) => metresTo(coord, lines[index]?.[search.indexOf(coord)]))
    return metres.indexOf(Math.min(...metres))
  })
}

/** Waypoints are shared among so many tracks only: the time to find the nearest ones grows with both numbers. */
const isShareable = (tracks: ReadonlyArray<DraftTrack>) => tracks.length <= MAX_TRACKS

/** The indexes of cues are wrong on the polyline of another track, or of several. */
const lostCues = (of: ReadonlyArray<Pick<DraftTrack, "cues">>) =>
  droppedIf(of.reduce((sum, { cues = [] }) => sum + cues.length, 0), "cues", "the file has more than one track")

/** Returns what `separate` gives to no track. */
export const lostBetween = (file: DraftFile): ReadonlyArray<Dropped> =>
  file.tracks.length < 2 ? [] : [
    ...lostCues([file]),
    ...droppedIf(
      isShareable(file.tracks) ? 0 : file.waypoints.length,
      "waypoints",
      `the file has more than ${MAX_TRACKS} tracks`
    )
  ]

/** Gives a track the members of the file, and the waypoints that it is nearest to. */
const aloneIn = (
  { activity, cues = [], descriptions, measures, names, tags, tracks, waypoints }: DraftFile
) => {
  const isShared = tracks.length > 1 && isShareable(tracks) && waypoints.length > 0
  const owners = isShared ? nearestTracks(tracks, waypoints) : []
  const unshared = tracks.length === 1 ? waypoints : []
  return (track: DraftTrack, index: number): DraftTrack => ({
    ...track,
    names: [...track.names, ...names],
    descriptions: [...track.descriptions, ...descriptions],
    tags: [...track.tags, ...tags],
    activity: track.activity ?? activity,
    waypoints: [...track.waypoints, ...isShared ? waypoints.filter((_, at) => owners[at] === index) : unshared],
    cues: [...track.cues ?? [], ...tracks.length === 1 ? cues : []],
    measures: track.measures ?? (tracks.length === 1 ? measures : undefined)
  })
}

export const separate = (file: DraftFile): ReadonlyArray<DraftTrack> => file.tracks.map(aloneIn(file))

const together = (
  { activity, cues = [], descriptions, measures, names, tags, tracks, waypoints }: DraftFile
): DraftTrack => ({
  names: [...names, ...tracks.flatMap((track) => track.names)],
  descriptions: [...descriptions, ...tracks.flatMap((track) => track.descriptions)],
  tags: [...tags, ...tracks.flatMap((track) => track.tags)],
  activity: tracks.map((track) => track.activity).find((activity) => activity !== undefined) ?? activity,
  waypoints: [...tracks.flatMap((track) => track.waypoints), ...waypoints],
  cues: tracks.length === 1 ? [...tracks.flatMap((track) => track.cues ?? []), ...cues] : [],
  measures: tracks.length > 1 ? undefined : tracks[0]?.measures ?? measures,
  segments: tracks.flatMap(({ segments }) => segments),
  seconds: sumOf(tracks.map(({ seconds }) => seconds)),
  recordedAt: tracks.flatMap(({ recordedAt }) => recordedAt ?? []).toSorted()[0]
})

const trackAt = ({ tracks }: DraftFile, index: number) => {
  const { [index]: track, length } = tracks
  if (track !== undefined) return Effect.succeed(track)
  const problem = length === 0
    ? "The file has no tracks"
    : `Expected an index of 0 to ${length - 1}, the file has ${length} tracks`
  return Effect.fail(InvalidInput.inQuery("track", problem))
}

const draftOf = (track: DraftTrack, dropped: Draft["dropped"]): Draft => ({ ...track, dropped })

/** The first route of several files names those that could not be read. */
const draftIn = (file: DraftFile) => {
  const alone = aloneIn(file)
  return (track: DraftTrack, index: number): Draft =>
    draftOf(
      alone(track, index),
      track.dropped === undefined ? file.dropped : [...index === 0 ? file.unread ?? [] : [], ...track.dropped]
    )
}

// The file may have so many tracks that a copy of its members for each would fill the memory.
const chosenOf = Effect.fnUntraced(function*(file: DraftFile, index: number) {
  const draft = draftIn(file)(yield* trackAt(file, index), index)
  const lost = droppedIf(file.tracks.length - 1, "tracks", "another one was chosen by `track`")
  return draftOf(draft, [...index === 0 ? [] : file.unread ?? [], ...draft.dropped, ...lost])
})

export const draftsOf = Effect.fnUntraced(function*(
  file: DraftFile,
  { join, split, track }: TrackChoice
): Effect.fn.Return<ReadonlyArray<Draft>, InvalidInput> {
  const { dropped, tracks } = file
  if (tracks.length < 2) {
    if (track !== undefined) yield* trackAt(file, track)
    return [draftOf(together(file), dropped)]
  }
  const apart = { ...file, dropped: [...dropped, ...lostBetween(file)] }
  if (split && !isShareable(tracks)) {
    return yield* InvalidInput.inQuery(
      "split",
      `Expected at most ${MAX_TRACKS} tracks, the file has ${tracks.length}: divide it, or import it alone, each track by \`track\``
    )
  }
  if (split) return tracks.map(draftIn(apart))
  if (track !== undefined) return [yield* chosenOf(apart, track)]
  return join ? [draftOf(together(file), [...dropped, ...lostCues([file, ...tracks])])] : []
})

/** Returns the length in metres, without the gaps between segments. */
export const metresOf = (segments: ReadonlyArray<ReadonlyArray<Position>>): number =>
  segments.reduce((sum, segment) => sum + lineMetres(coordinatesOf(segment)), 0)

export const summariesOf = (
  { tracks }: DraftFile,
  nameOf: (track: DraftTrack) => string
): ReadonlyArray<TrackSummary> =>
  tracks.slice(0, MAX_TRACKS).map((track, index) => ({
    index,
    name: nameOf(track),
    file: track.file,
    positions: track.segments.reduce((sum, { length }) => sum + length, 0),
    distance: metresOf(track.segments),
    bounds: boundsOf(coordinatesOf(track.segments.flat())),
    start: track.segments[0]?.[0]
  }))

/** Returns twice the area of the triangle: how much the polyline changes without the middle position. */
const deviation = (before: Position, position: Position, after: Position): number => {
  const scale = Math.cos(radians(position[1]))
  const [byLng, byLat] = [(position[0] - before[0]) * scale, position[1] - before[1]]
  const [toLng, toLat] = [(after[0] - before[0]) * scale, after[1] - before[1]]
  return Math.abs(byLng * toLat - byLat * toLng)
}

const deviations = (positions: ReadonlyArray<Position>): Float64Array => {
  const areas = new Float64Array(Math.floor((positions.length - 1) / 2))
  for (let at = 0; at < areas.length; at++) {
    const [before, position, after] = [positions[2 * at], positions[2 * at + 1], positions[2 * at + 2]]
    if (before === undefined || position === undefined || after === undefined) continue
    areas[at] = deviation(before, position, after)
  }
  return areas
}

/** Removes the least deviating positions, at most every other: no two neighbours go at once. */
const thinned = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> => {
  const areas = deviations(positions)
  const surplus = Math.min(positions.length - max, areas.length)
  const limit = areas.toSorted()[surplus - 1] ?? 0
  let equals = surplus - areas.reduce((count, area) => area < limit ? count + 1 : count, 0)
  return positions.filter((_, index) => {
    const area = index % 2 === 0 ? Infinity : areas[(index - 1) / 2] ?? Infinity
    if (area === limit) return equals-- <= 0
    return area > limit
  })
}

/** Keeps at most `max` positions, first and last included (Visvalingam and Whyatt, 1993, in rounds). */
export const reduced = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> =>
  positions.length <= max ? positions : reduced(thinned(positions, max), max)
