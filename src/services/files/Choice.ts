import { Effect } from "effect"
import type { BoundingBox, Position } from "../../schema/Geometry.ts"
import { MAX_TRACKS } from "../../schema/Import.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { boundsOf, coordinatesOf, lengthOf, metresBetween } from "../geometry/Geodesy.ts"
import { type Draft, type DraftFile, type DraftTrack, type DraftWaypoint, droppedIf } from "./draft/Document.ts"
import { NearestPositions } from "./draft/NearestPositions.ts"
import { sumOf } from "./draft/Times.ts"

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

/** Each track with what the file says of all, and the waypoints that it is nearest to. */
export const separate = ({ activity, cues = [], descriptions, names, tags, tracks, waypoints }: DraftFile) => {
  const isShared = tracks.length > 1 && tracks.length <= MAX_TRACKS && waypoints.length > 0
  const owners = isShared ? nearestTracks(tracks, waypoints) : waypoints.map(() => tracks.length === 1 ? 0 : -1)
  const aloneOf = (track: DraftTrack, index: number): DraftTrack => ({
    ...track,
    names: [...track.names, ...names],
    descriptions: [...track.descriptions, ...descriptions],
    tags: [...track.tags, ...tags],
    activity: track.activity ?? activity,
    waypoints: [...track.waypoints, ...waypoints.filter((_, at) => owners[at] === index)],
    cues: [...track.cues ?? [], ...tracks.length === 1 ? cues : []]
  })
  return tracks.map(aloneOf)
}

const together = ({ activity, cues = [], descriptions, names, tags, tracks, waypoints }: DraftFile): DraftTrack => ({
  names: [...names, ...tracks.flatMap((track) => track.names)],
  descriptions: [...descriptions, ...tracks.flatMap((track) => track.descriptions)],
  tags: [...tags, ...tracks.flatMap((track) => track.tags)],
  activity: tracks.map((track) => track.activity).find((activity) => activity !== undefined) ?? activity,
  waypoints: [...tracks.flatMap((track) => track.waypoints), ...waypoints],
  // On the polyline of another track the indexes are wrong.
  cues: tracks.length === 1 ? [...tracks.flatMap((track) => track.cues ?? []), ...cues] : [],
  segments: tracks.flatMap(({ segments }) => segments),
  seconds: sumOf(tracks.map(({ seconds }) => seconds))
})

const requireTrack = (count: number, index: number) => {
  if (index < count) return Effect.void
  const problem = count === 0
    ? "The file has no tracks"
    : `Expected an index of 0 to ${count - 1}, the file has ${count} tracks`
  return Effect.fail(InvalidInput.at("track", problem))
}

const draftOf = (track: DraftTrack, dropped: Draft["dropped"]): Draft => ({ ...track, dropped })

const splitOf = (file: DraftFile) =>
  file.tracks.length > MAX_TRACKS
    ? Effect.fail(
      InvalidInput.at(
        "split",
        `Expected at most ${MAX_TRACKS} tracks, the file has ${file.tracks.length}`
      )
    )
    : Effect.succeed(separate(file).map((track) => draftOf(track, file.dropped)))

const chosenOf = Effect.fnUntraced(function*(file: DraftFile, index: number) {
  yield* requireTrack(file.tracks.length, index)
  const lost = droppedIf(file.tracks.length - 1, "tracks", "another one was chosen by `track`")
  const dropped = [...file.dropped, ...lost]
  return separate(file).filter((_, at) => at === index).map((track) => draftOf(track, dropped))
})

export const draftsOf = (
  file: DraftFile,
  { join, split, track }: TrackChoice
): Effect.Effect<ReadonlyArray<Draft>, InvalidInput> => {
  const { dropped, tracks } = file
  if (tracks.length > 1 && split) return splitOf(file)
  if (track !== undefined && tracks.length !== 1) return chosenOf(file, track)
  if (tracks.length > 1 && !join) return Effect.succeed([])
  if (track !== undefined && track > 0) return Effect.as(requireTrack(1, track), [])
  return Effect.succeed([{ ...together(file), dropped }])
}

/** In metres, without the gaps between segments. */
export const metresOf = (segments: ReadonlyArray<ReadonlyArray<Position>>): number =>
  segments.reduce((sum, segment) => sum + lengthOf(coordinatesOf(segment)), 0)

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
