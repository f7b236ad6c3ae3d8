import { setTimeout as delay } from 'node:timers/promises';
import { CELL_NAMES, otherCell, type CellName, type CellShop, type CellsRig } from './cells.js';

/** One shop's customers: orders at a steady rate, each created once and read afterwards, in whichever cell responds. */
export interface ShopLoad {
  readonly shop: CellShop;
  /** Ids that were acknowledged, and when. */
  readonly acknowledged: ReadonlyMap<number, number>;
  /** What no client may meet: a response without the row, or with another one; an unexpected refusal. */
  readonly wrong: readonly string[];
  /** Longest time from an order to its acknowledgement, since the last call. */
  takeLongestMs(): number;
  stop(): Promise<void>;
}

interface Response {
  readonly status: number;
  readonly code: string | undefined;
  /** The first error's. */
  readonly message: string | undefined;
  readonly data: Readonly<Record<string, readonly { readonly order_id: string }[]>> | undefined;
}

const RETRY_MS = 50;
/** Customers of a cell that is down back off: they would take the machine from the other cell. */
const MAX_RETRY_MS = 500;
const REQUEST_TIMEOUT_MS = 40_000;
/** Nothing was done, or nobody knows. */
const TRY_AGAIN = new Set([421, 502, 503]);

/** @param perSecond orders */
export function startShopLoad(rig: CellsRig, shop: CellShop, perSecond: number): ShopLoad {
  const acknowledged = new Map<number, number>();
  const wrong: string[] = [];
  const inHand = new Set<Promise<void>>();
  let cell: CellName = shop.home;
  let longestMs = 0;
  let next = 1;

  /** Follows the tenant: 421 names its cell. While a cell is down, the other is asked. */
  const ask = async (query: string): Promise<Response> => {
    for (let retryMs = RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
      const asked = cell;
      const response = await send(rig.cells[asked].url, shop.token, query).catch(() => undefined);
      if (response && !TRY_AGAIN.has(response.status)) return response;
      if (response?.status === 421 && cell === asked) {
        cell = CELL_NAMES.find((name) => rig.cells[name].url === response.cellUrl) ?? otherCell(asked);
      }
      await delay(retryMs);
    }
  };
  const order = async (id: number): Promise<void> => {
    const startedAtMs = performance.now();
    const created = await ask(`mutation { create_orders(input: {order_id: ${id}}) { order_id } }`);
    // An earlier try was committed, and its response lost.
    if (created.code !== undefined && created.code !== 'UNIQUE_VIOLATION') {
      wrong.push(`order ${id} got ${created.status} ${created.code} by ${cell}: ${String(created.message)}`);
      return;
    }
    longestMs = Math.max(longestMs, performance.now() - startedAtMs);
    acknowledged.set(id, Date.now());
    const read = await ask(`{ orders(filter: "order_id = ${id}") { order_id } }`);
    const rows = read.data?.['orders'] ?? [];
    if (rows.length !== 1 || rows[0]?.order_id !== String(id)) {
      wrong.push(`order ${id} was read in ${cell} as ${JSON.stringify(read)}`);
    }
  };
  const timer = setInterval(() => {
    const id = next++;
    const done = order(id).finally(() => inHand.delete(done));
    inHand.add(done);
  }, 1000 / perSecond);
  return {
    shop,
    acknowledged,
    wrong,
    takeLongestMs() {
      const taken = Math.round(longestMs);
      longestMs = 0;
      return taken;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(inHand);
    },
  };
}

async function send(
  url: string,
  token: string,
  query: string,
): Promise<Response & { readonly cellUrl: string | null }> {
  const response = await fetch(`${url}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const body = (await response.json()) as {
    data?: Response['data'];
    code?: string;
    errors?: readonly { message?: string; extensions?: { code?: string } }[];
  };
  return {
    status: response.status,
    cellUrl: response.headers.get('x-rowpost-cell'),
    code: body.errors?.[0] ? (body.errors[0].extensions?.code ?? 'unknown') : body.code,
    data: body.data,
    message: body.errors?.[0]?.message,
  };
}
