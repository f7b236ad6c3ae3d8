import { conditionsOf, hasErrorCode, isTrouble, literal, periodOf, type Search } from './deliveryFilter.js';
import { ROW, type DeliveryRow } from './deliveryView.js';
import type { Visit } from './pageHandlers.js';

const LIST = `query ($filter: String, $limit: Int) {
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: $limit) { ${ROW} }
}`;
const END = `query ($filter: String, $offset: Int) {
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], offset: $offset, limit: 1) { deliveryid createtime }
}`;

/**
 * How many deliveries a page searches: no index finds parts of an address or a subject, and a search without matches reads
 * every delivery of its period, at 25 µs each.
 */
const WINDOW = 5_000;
/** Each further step searches four times as many. */
const GROWTH = 4;
const MAX_DEPTH = 4;

export interface Found {
  readonly rows: readonly DeliveryRow[];
  /** If there is more to search: how many deliveries were searched, back to when, and where to continue. */
  readonly searched?: {
    readonly count: string;
    readonly next: string;
    readonly back: string;
    readonly end: string;
    readonly depth: string;
  };
}

/** The newest matches of a search below an id. Throws AppError BAD_USER_INPUT. */
export async function searchDeliveries(
  query: Visit['query'],
  search: Search,
  {
    below,
    depth,
    limit,
  }: { readonly below: string | undefined; readonly depth: number; readonly limit: number },
): Promise<Found> {
  const conditions = conditionsOf(search);
  const within = [...periodOf(search), ...(below === undefined ? [] : [`deliveryid < ${literal(below)}`])];
  const list = async (filter: readonly string[]): Promise<readonly DeliveryRow[]> => {
    const found = await query<{ email_delivery: readonly DeliveryRow[] }>(LIST, {
      filter: filter.join(' and '),
      limit,
    });
    return found.email_delivery;
  };
  // Those that were reported have an index of their own, and are few.
  if (conditions.length === 0 || isTrouble(search)) return { rows: await list([...within, ...conditions]) };
  // So have those with an error code.
  const indexed = hasErrorCode(search) ? ['error_code is not null'] : [];
  const offset = WINDOW * GROWTH ** depth;
  const { email_delivery } = await query<{
    email_delivery: readonly { readonly deliveryid: string; readonly createtime: string }[];
  }>(END, { filter: [...within, ...indexed].join(' and '), offset });
  const [end] = email_delivery;
  if (!end) return { rows: await list([...within, ...conditions]) };
  const rows = await list([...within, `deliveryid > ${literal(end.deliveryid)}`, ...conditions]);
  if (rows.length === limit) return { rows };
  const next = Math.min(MAX_DEPTH, depth + 1);
  return {
    rows,
    searched: {
      count: inGroups(offset),
      next: inGroups(WINDOW * GROWTH ** next),
      back: end.createtime,
      end: String(BigInt(end.deliveryid) + 1n),
      depth: String(next),
    },
  };
}

/** 20,000 */
function inGroups(count: number): string {
  return new Intl.NumberFormat('en').format(count);
}
