import { MAX_DURATION, type NewRoute } from "../../schema/Route.ts"
import { durationOf } from "../../services/files/Times.ts"

/** The default duration is the time between the first and the last waypoint with a timestamp. */
export const withDuration = <A extends Pick<NewRoute, "duration" | "waypoints">>(route: A): A => {
  const duration = route.duration ?? durationOf([route.waypoints], ({ timestamp }) => timestamp ?? undefined)
  return duration === undefined || duration > MAX_DURATION ? route : { ...route, duration }
}
