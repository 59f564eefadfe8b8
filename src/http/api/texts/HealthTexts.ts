import { described, titled } from "./Described.ts"

export const texts = {
  health: described("Probe the service", "The same as `/health/ready`."),
  live: described("Probe the process", "The process answers."),
  ready: described(
    "Probe readiness",
    "The database is reachable. A routing engine that is away is told and makes nothing unready."
  ),
  group: titled("Health", "Probes.")
}
