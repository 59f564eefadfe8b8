import { described, titled } from "./Described.ts"

export const texts = {
  metrics: described(
    "Figures for Prometheus",
    "Figures for Prometheus. Only from inside (`METRICS_ALLOWED_CIDRS`); to all others there is no such path."
  ),
  group: titled("Metrics", "Figures for operators.")
}
