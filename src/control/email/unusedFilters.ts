import { Kind } from 'graphql';
import type { EmailFailure } from '../../email/email.js';
import type { Steps } from '../../graphql/steps.js';
import type { EmailQuery } from './emailTypeParts.js';
import { definitionsOf } from './missingNames.js';

/** Finds filters that never reach their query, which then returns the rows of everybody. */
export function* unusedFilters(queries: readonly EmailQuery[]): Steps<readonly EmailFailure[]> {
  const found: EmailFailure[] = [];
  for (const [index, { outvar, query, filter }] of queries.entries()) {
    if (filter == null || filter.trim() === '') continue;
    yield;
    if (declaresFilter(query)) continue;
    found.push({
      code: 'FILTER_UNUSED',
      field: `queries[${index}].filter`,
      message: `the filter of the query ${outvar} has no effect, and it returns every row`,
      hint: 'Pass it on in the query: query ($filter: String) { orders(filter: $filter) { order_id } }.',
    });
  }
  return found;
}

function declaresFilter(query: string): boolean {
  return definitionsOf(query).some(
    (node) =>
      node.kind === Kind.OPERATION_DEFINITION &&
      node.variableDefinitions?.some(({ variable }) => variable.name.value === 'filter') === true,
  );
}
