/**
 * The processor time of this thread that work takes, in milliseconds, and its result: beside a busy neighbour it is the
 * same. The clock has steps of up to 4 ms.
 */
export const processorTimeOf = <A>(work: () => A): readonly [milliseconds: number, result: A] => {
  const before = process.threadCpuUsage()
  const result = work()
  const { system, user } = process.threadCpuUsage(before)
  return [(user + system) / 1000, result]
}
