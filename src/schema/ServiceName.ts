/** The name in tokens, telemetry and protocols. */
export const SERVICE_NAME = "route-planning-service"

/** The name for people. */
export const SERVICE_TITLE = "Route Planning Service"
