/**
 * Counts the open requests that the home page of an operator reports.
 */
const OLD_MILLIS = 10 * 60_000
/** The largest page that the gateway returns. */
const PAGE_SIZE = 100
/** With {@link PAGE_SIZE}, at most 1,000 holds are read, as many as `tollgate doctor` counts. */
const MAX_PAGES = 10

interface HoldPage {
  readonly data: ReadonlyArray<{ readonly held_at: string; readonly orphaned: boolean }>
  readonly next_cursor: string | null
}

/** A number of open requests. */
export interface HoldCount {
  readonly count: number
  /** True if the unread holds can contain more requests of this kind. */
  readonly orMore: boolean
}

export interface HoldCounts {
  /** The requests that have been open for more than 10 minutes. */
  readonly old: HoldCount
  /** The requests of dead nodes. */
  readonly orphaned: HoldCount
}

/** Reads the pages of the open holds, oldest first, and counts the old and the orphaned holds. */
export const countHolds = async (
  readPage: (query: { readonly limit: number; readonly cursor?: string }) => Promise<HoldPage>,
  nowMillis: number
): Promise<HoldCounts> => {
  let [old, orphaned, read] = [0, 0, 0]
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES && (page === 0 || cursor !== null); page++) {
    const { data, next_cursor }: HoldPage = await readPage(
      cursor === null ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, cursor }
    )
    old += data.filter(({ held_at }) => nowMillis - Date.parse(held_at) > OLD_MILLIS).length
    orphaned += data.filter((hold) => hold.orphaned).length
    read += data.length
    cursor = next_cursor
  }
  const areUnread = cursor !== null
  return { old: { count: old, orMore: areUnread && old === read }, orphaned: { count: orphaned, orMore: areUnread } }
}
