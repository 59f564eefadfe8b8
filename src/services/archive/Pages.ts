const MAX_ROWS = 100
const MAX_BYTES = 64 * 1024

export interface Sized<Id> {
  readonly id: Id
  readonly bytes: number
}

/** Ids in order, in pages of at most 100 rows and about 64 KiB (a longer row is a page of its own). */
export function* pagesOf<Id>(rows: Iterable<Sized<Id>>): Generator<ReadonlyArray<Id>> {
  let page: Array<Id> = []
  let total = 0
  for (const { bytes, id } of rows) {
    if (page.length > 0 && (page.length === MAX_ROWS || total + bytes > MAX_BYTES)) {
      yield page
      page = []
      total = 0
    }
    page.push(id)
    total += bytes
  }
  if (page.length > 0) yield page
}
