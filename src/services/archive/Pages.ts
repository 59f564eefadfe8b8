const MAX_ROWS = 100
const MAX_BYTES = 64 * 1024

/** A row that is to be read, and about how long it is. */
export interface Sized<Id> {
  readonly id: Id
  readonly bytes: number
}

/** The ids in their order, in pages of at most 100 rows and, but for a longer single one, about 64 KiB. */
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
