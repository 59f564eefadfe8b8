/** What `npm start` and the image give to Node: `test/deploy/packaging.test.ts` compares them. */
export const NODE_FLAGS = [
  "--disable-proto=delete",
  "--max-semi-space-size=8",
  "--no-allocation-site-pretenuring",
  "--no-parallel-scavenge",
  "--expose-gc"
]

/**
 * By default glibc keeps freed memory, for each thread apart: a third of what the process has after a load. Buffers of 64 KiB,
 * in which sockets are read, are mapped by themselves: freed between others they would stay.
 */
export const ALLOCATION = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "65536"
}
