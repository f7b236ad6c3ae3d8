import { LIST_SIZE, NEW_ITEM, plain, type AnsweredOrder, type PlainOrder } from './shop.js';

export type Scenario = 'list' | 'single' | 'create';

/** A server, and how it is asked for the same things. */
export interface Contender {
  readonly name: string;
  readonly requests: Readonly<Record<Scenario, ScenarioRequest>>;
}

export interface ScenarioRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of one request, for the order with this key where the scenario has one. */
  readonly body: (key: number) => unknown;
  /** The orders in a response to `list` and `single`; none for `create`. */
  readonly orders: (data: unknown) => readonly PlainOrder[];
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const NESTED = 'order_id status total createdate item_collection { item_id product quantity price }';
const FLAT = 'order_id status total createdate';

export const ROWPOST_LIST = `{ orders(limit: ${LIST_SIZE}) { ${NESTED} } }`;
export const ROWPOST_SINGLE = `query ($filter: String) { orders(filter: $filter, limit: 1) { ${FLAT} } }`;
export const filterByKey = (key: number): string => `order_id = ${key}`;

export function rowpost(baseUrl: string, token: string): Contender {
  const create = 'mutation ($input: itemInput) { create_item(input: $input) { item_id product } }';
  const at = { url: `${baseUrl}/query`, headers: { ...JSON_HEADERS, authorization: `Bearer ${token}` } };
  return {
    name: 'Rowpost (token, policy, tenant role, event)',
    requests: {
      list: { ...at, body: () => ({ query: ROWPOST_LIST }), orders: collectionOrders },
      single: {
        ...at,
        body: (key) => ({ query: ROWPOST_SINGLE, variables: { filter: filterByKey(key) } }),
        orders: collectionOrders,
      },
      create: { ...at, body: () => ({ query: create, variables: { input: NEW_ITEM } }), orders: none },
    },
  };
}

export function raw(url: string): Contender {
  const at = (path: string) => ({ url: `${url}${path}`, headers: JSON_HEADERS });
  return {
    name: 'SQL text behind Express',
    requests: {
      list: { ...at('list'), body: () => ({}), orders: collectionOrders },
      single: { ...at('single'), body: (key) => ({ key }), orders: collectionOrders },
      create: { ...at('create'), body: () => NEW_ITEM, orders: none },
    },
  };
}

export function dataLoader(url: string): Contender {
  const at = { url, headers: JSON_HEADERS };
  const single = `query ($id: ID!) { order(order_id: $id) { ${FLAT} } }`;
  const create = 'mutation ($input: itemInput!) { create_item(input: $input) { item_id product } }';
  return {
    name: 'graphql-http + DataLoader',
    requests: {
      list: { ...at, body: () => ({ query: ROWPOST_LIST }), orders: collectionOrders },
      single: {
        ...at,
        body: (key) => ({ query: single, variables: { id: key } }),
        orders: (data) => [plain((data as { order: AnsweredOrder }).order)],
      },
      create: { ...at, body: () => ({ query: create, variables: { input: NEW_ITEM } }), orders: none },
    },
  };
}

export function postgraphile(url: string): Contender {
  const at = { url, headers: JSON_HEADERS };
  const flat = 'orderId status total createdate';
  const items = 'itemsByOrderId { nodes { itemId product quantity price } }';
  const list = `{ allOrders(first: ${LIST_SIZE}) { nodes { ${flat} ${items} } } }`;
  const single = `query ($id: Int!) { orderByOrderId(orderId: $id) { ${flat} } }`;
  const create =
    'mutation ($item: ItemInput!) { createItem(input: { item: $item }) { item { itemId product } } }';
  const { order_id: orderId, ...item } = NEW_ITEM;
  interface Order extends Omit<AnsweredOrder, 'order_id'> {
    readonly orderId: number;
    readonly itemsByOrderId?: { readonly nodes: Required<AnsweredOrder>['items'] };
  }
  const shown = ({ orderId: order_id, itemsByOrderId, ...order }: Order): PlainOrder =>
    plain({ ...order, order_id, ...(itemsByOrderId ? { items: itemsByOrderId.nodes } : {}) });
  return {
    name: 'PostGraphile 5',
    requests: {
      list: {
        ...at,
        body: () => ({ query: list }),
        orders: (data) => (data as { allOrders: { nodes: Order[] } }).allOrders.nodes.map(shown),
      },
      single: {
        ...at,
        body: (key) => ({ query: single, variables: { id: key } }),
        orders: (data) => [shown((data as { orderByOrderId: Order }).orderByOrderId)],
      },
      create: {
        ...at,
        body: () => ({ query: create, variables: { item: { ...item, orderId, price: String(item.price) } } }),
        orders: none,
      },
    },
  };
}

export function directus(url: string, token: string): Contender {
  const at = { url: `${url}graphql`, headers: { ...JSON_HEADERS, authorization: `Bearer ${token}` } };
  const single = `query ($id: ID!) { orders_by_id(id: $id) { ${FLAT} } }`;
  return {
    name: 'Directus 12',
    requests: {
      list: { ...at, body: () => ({ query: ROWPOST_LIST }), orders: collectionOrders },
      single: {
        ...at,
        body: (key) => ({ query: single, variables: { id: key } }),
        orders: (data) => [plain((data as { orders_by_id: AnsweredOrder }).orders_by_id)],
      },
      // By its REST API: its GraphQL would have the whole order again, and write it.
      create: {
        ...at,
        url: `${url}items/item?fields=item_id,product`,
        body: () => NEW_ITEM,
        orders: none,
      },
    },
  };
}

function collectionOrders(data: unknown): readonly PlainOrder[] {
  type Order = AnsweredOrder & { readonly item_collection?: Required<AnsweredOrder>['items'] };
  return (data as { orders: Order[] }).orders.map(({ item_collection: items, ...order }) =>
    plain({ ...order, ...(items ? { items } : {}) }),
  );
}

function none(): readonly PlainOrder[] {
  return [];
}
