/** The API document has the schema under this identifier, with its words and examples. */
export const named = <A>(identifier: string, description: string, ...examples: ReadonlyArray<NoInfer<A>>): {
  readonly identifier: string
  readonly description: string
  readonly examples: ReadonlyArray<A>
} => ({ identifier, description, examples })
