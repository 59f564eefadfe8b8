import { Metric } from "effect"

export const counterBy =
  <Value extends string>(name: string, attribute: string, description: string) => (value: Value) =>
    Metric.counter(name, { description, attributes: { [attribute]: value }, incremental: true })
