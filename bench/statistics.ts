/** Returns the smallest value that this share of the values does not exceed; 0 without values. */
export const quantile = (values: ReadonlyArray<number>, share: number) =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0

export const median = (values: ReadonlyArray<number>) => quantile(values, 0.5)

export const P99 = 0.99

export const sum = (values: ReadonlyArray<number>) => values.reduce((a, b) => a + b, 0)
