import { itemsOf, textOf, type Values } from './formValues.js';

/** Of the form: more are written by GraphQL. */
const MAX_BLOCKS = 50;

interface Query {
  readonly outvar: string;
  readonly query: string;
  readonly filter?: string | null;
  readonly ordering?: readonly string[] | null;
  readonly limit?: number | string | null;
  readonly offset?: number | string | null;
}

/** The queries of an email in its form: a block of fields each, and an empty one to add another. */
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

/** What the blocks of a form hold; one without a name and a query is left out. */
export function readQueries(values: Values): readonly Query[] {
  return Array.from({ length: MAX_BLOCKS }, (_, index): Query => {
    const read = (part: string): string => textOf(values, `query_${index}_${part}`, Infinity);
    return {
      outvar: read('outvar'),
      query: read('query').replaceAll('\r\n', '\n'),
      filter: read('filter') || null,
      ordering: itemsOf(values, `query_${index}_ordering`),
      limit: numberOf(read('limit')),
      offset: numberOf(read('offset')),
    };
  }).filter(({ outvar, query }) => outvar !== '' || query !== '');
}

/** What is no number is refused by GraphQL, in its words. */
function numberOf(text: string): number | string | null {
  if (text === '') return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}
