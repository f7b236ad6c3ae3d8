import { conditionsOf, conditionsOfPeriod, literal, periodOf, type Search } from './deliveryFilter.js';
import type { Found } from './deliverySearch.js';
import { ROW, type DeliveryRow } from './deliveryView.js';
import type { Visit } from './pageHandlers.js';

const LIST = `query ($filter: String, $limit: Int) {
  email_delivery(filter: $filter, ordering: ["deliveryid"], limit: $limit) { ${ROW} }
}`;

/**
 * Whether the primary key alone finds the oldest: in a period that begins later, or with conditions, everything before them
 * would be read.
 */
export function mayBeOldestFirst(search: Search): boolean {
  const { within, from, until } = search;
  return (within === 'all' || until !== '') && from === '' && conditionsOf(search).length === 0;
}

/** The oldest deliveries above an id. Throws AppError BAD_USER_INPUT. */
export async function oldestDeliveries(
  query: Visit['query'],
  search: Search,
  above: string | undefined,
  limit: number,
): Promise<Found> {
  const filter = [
    ...conditionsOfPeriod(periodOf(search)),
    ...(above === undefined ? [] : [`deliveryid > ${literal(above)}`]),
  ];
  const { email_delivery: rows } = await query<{ email_delivery: readonly DeliveryRow[] }>(LIST, {
    filter: filter.join(' and '),
    limit,
  });
  return { rows };
}
