import { Metric } from "effect"

/** The counters of one name, each of which has another value of an attribute. */
export const counterBy =
  <Value extends string>(name: string, attribute: string, description: string) => (value: Value) =>
    Metric.counter(name, { description, attributes: { [attribute]: value }, incremental: true })
