/** In tokens, telemetry and protocols. */
export const SERVICE_NAME = "route-planning-service"

/** For people. */
export const SERVICE_TITLE = "Route Planning Service"
