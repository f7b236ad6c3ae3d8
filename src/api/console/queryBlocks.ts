import { itemsOf, textOf, type Values } from './formValues.js';

/** Limit of the form; use GraphQL for more. */
const MAX_BLOCKS = 50;
/** More than any ordering may have, so that a longer one is refused before each item is read. */
const ITEMS_READ = 100;

interface Query {
  readonly outvar: string;
  readonly query: string;
  readonly filter?: string | null;
  readonly ordering?: readonly string[] | null;
  readonly limit?: number | string | null;
  readonly offset?: number | string | null;
}

/** The queries of an email as form blocks, plus an empty block to add another. */
export function queryBlocks(queries: readonly Query[], field: unknown): readonly object[] {
  const wrong = /^queries\[(\d+)\]\.?(\w*)/.exec(typeof field === 'string' ? field : '');
  return [...queries, undefined].map((query, index) => ({
    outvar: query?.outvar ?? '',
    query: query?.query ?? '',
    filter: query?.filter ?? '',
    ordering: (query?.ordering ?? []).join(', '),
    limit: query?.limit ?? '',
    offset: query?.offset ?? '',
    isNew: query === undefined,
    wrong: wrong && Number(wrong[1]) === index ? wrong[2] || 'query' : '',
  }));
}

/** Reads the form's blocks; one without a name and a query is skipped. */
export function readQueries(values: Values): readonly Query[] {
  return Array.from({ length: MAX_BLOCKS }, (_, index): Query => {
    const ordering = itemsOf(values, `query_${index}_ordering`).slice(0, ITEMS_READ);
    const read = (part: string): string => textOf(values, `query_${index}_${part}`, Infinity);
    return {
      outvar: read('outvar'),
      query: read('query').replaceAll('\r\n', '\n'),
      filter: read('filter') || null,
      ordering: ordering.length === 0 ? null : ordering,
      limit: numberOf(read('limit')),
      offset: numberOf(read('offset')),
    };
  }).filter(({ outvar, query }) => outvar !== '' || query !== '');
}

/** Text that is not a number is passed on, so that GraphQL rejects it. */
function numberOf(text: string): number | string | null {
  if (text === '') return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}
