import { described, titled } from "./Described.ts"

export const texts = {
  health: described("Probe the service", "The same as `/health/ready`."),
  live: described("Probe the process", "The process responds."),
  ready: described(
    "Probe readiness",
    "The database is reachable. An unavailable routing engine is reported and does not affect readiness."
  ),
  group: titled("Health", "Probes.")
}
