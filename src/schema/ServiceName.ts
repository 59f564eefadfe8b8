/** Tokens, telemetry and protocols have this name. */
export const SERVICE_NAME = "route-planning-service"

/** People read this name. */
export const SERVICE_TITLE = "Route Planning Service"
