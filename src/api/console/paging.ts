import { linkTo } from './consolePath.js';

const PAGE_SIZE = 50;
/** One row more than a page shows, which tells whether there is a next page. */
export const ROWS_QUERIED = PAGE_SIZE + 1;

/** The rows that a page shows, and the addresses of the pages before and after it, which repeat the search. */
export function pageOf<Row>(
  rows: readonly Row[],
  from: number,
  path: string,
  search: Readonly<Record<string, string>> = {},
): {
  readonly shown: readonly Row[];
  readonly previous: string | undefined;
  readonly next: string | undefined;
} {
  return {
    shown: rows.slice(0, PAGE_SIZE),
    previous: from > 0 ? linkTo(path, { ...search, from: Math.max(0, from - PAGE_SIZE) }) : undefined,
    next: rows.length > PAGE_SIZE ? linkTo(path, { ...search, from: from + PAGE_SIZE }) : undefined,
  };
}
