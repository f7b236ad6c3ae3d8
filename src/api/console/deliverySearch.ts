import {
  conditionsOf,
  conditionsOfPeriod,
  literal,
  periodOf,
  waysToFind,
  type IdList,
  type Search,
} from './deliveryFilter.js';
import { ROW, type DeliveryRow } from './deliveryView.js';
import { inGroups } from './overviewView.js';
import type { Visit } from './pageHandlers.js';

const LIST = `query ($filter: String, $limit: Int) {
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: $limit) { ${ROW} }
}`;

/**
 * How many deliveries are read, one part after the other, until a page is full: mostly the first part has enough. No index finds parts of
 * an address or a subject, nor every combination of conditions, and a page must not read all deliveries because few match.
 */
const PARTS = [100, 400, 1_000] as const;

export interface Found {
  readonly rows: readonly DeliveryRow[];
  /** If there is more to search: how many deliveries were searched, back to when, and below which id to continue. */
  readonly searched?: { readonly count: string; readonly back: string; readonly end: string };
}

export interface SearchOptions {
  /** An id; undefined to begin with the newest. */
  readonly below?: string | undefined;
  readonly limit: number;
  /** The setting. */
  readonly listMaxLimit: number;
}

/** The newest matches of a search below an id. Throws AppError BAD_USER_INPUT. */
export async function searchDeliveries(
  query: Visit['query'],
  search: Search,
  { below, limit, listMaxLimit }: SearchOptions,
): Promise<Found> {
  const conditions = conditionsOf(search);
  const period = conditionsOfPeriod(periodOf(search));
  let ways = waysToFind(search);
  let end = below;
  let back = '';
  let count = 0;
  const rows: DeliveryRow[] = [];
  for (const most of PARTS) {
    const before = end === undefined ? [] : [`deliveryid < ${literal(end)}`];
    const parts = await readParts(query, ways, [...period, ...before], Math.min(most, listMaxLimit));
    const part = fewest(parts);
    // The others would give more that don't match.
    ways = ways.filter((_, index) => parts[index] === part);
    const oldest = part.deliveries.at(-1);
    if (!oldest) return { rows };
    const { email_delivery } = await query<{ email_delivery: readonly DeliveryRow[] }>(LIST, {
      filter: [...among(part.deliveries), ...conditions].join(' and '),
      limit: limit - rows.length,
    });
    rows.push(...email_delivery);
    if (rows.length === limit || !part.isCut) return { rows };
    end = oldest.deliveryid;
    back = oldest.createtime;
    count += part.deliveries.length;
  }
  return { rows, ...(end !== undefined && { searched: { count: inGroups(count), back, end } }) };
}

interface Id {
  readonly deliveryid: string;
  readonly createtime: string;
}

/** The newest deliveries that an index gives. */
interface Part {
  readonly deliveries: readonly Id[];
  /** Whether there are older ones. */
  readonly isCut: boolean;
}

async function readParts(
  query: Visit['query'],
  ways: readonly (readonly IdList[])[],
  within: readonly string[],
  size: number,
): Promise<readonly Part[]> {
  const lists = ways.flat();
  const document = `query (${lists.map((_, index) => `$f${index}: String`).join(', ')}) {
    ${lists.map(({ list }, index) => `l${index}: ${list}(filter: $f${index}, ordering: ["deliveryid desc"], limit: ${size}) { deliveryid createtime }`).join('\n')}
  }`;
  const filters = lists.map(({ conditions }, index) => [
    `f${index}`,
    [...conditions, ...within].join(' and '),
  ]);
  const found = Object.values(
    await query<Readonly<Record<string, readonly Id[]>>>(
      document,
      Object.fromEntries(filters) as Readonly<Record<string, string>>,
    ),
  );
  let first = 0;
  return ways.map((way) => merged(found.slice(first, (first += way.length)), size));
}

/** What several lists give together, as far back as all of them were read. */
function merged(lists: readonly (readonly Id[])[], size: number): Part {
  const cuts = lists.filter(({ length }) => length === size).map((list) => idOf(list.at(-1)));
  const end = cuts.reduce((latest, cut) => (cut > latest ? cut : latest), 0n);
  const known = new Map(lists.flat().map((delivery) => [delivery.deliveryid, delivery]));
  const deliveries = [...known.values()]
    .filter((delivery) => idOf(delivery) >= end)
    .sort((a, b) => (idOf(a) > idOf(b) ? -1 : 1));
  return { deliveries, isCut: cuts.length > 0 };
}

/** The part that has all there is or, among as many deliveries, reaches furthest back. */
function fewest(parts: readonly Part[]): Part {
  return parts.reduce((best, part) => {
    if (best.isCut !== part.isCut) return part.isCut ? best : part;
    if (!part.isCut) return part.deliveries.length < best.deliveries.length ? part : best;
    return idOf(part.deliveries.at(-1)) < idOf(best.deliveries.at(-1)) ? part : best;
  });
}

function idOf(delivery: Id | undefined): bigint {
  return BigInt(delivery?.deliveryid ?? 0);
}

/** The times let PostgreSQL look into the partitions of these days only. */
function among(deliveries: readonly Id[]): readonly string[] {
  const times = deliveries.map(({ createtime }) => createtime).sort();
  return [
    `deliveryid in [${deliveries.map(({ deliveryid }) => deliveryid).join(', ')}]`,
    `createtime >= ${literal(times[0] ?? '')}`,
    `createtime <= ${literal(times.at(-1) ?? '')}`,
  ];
}
