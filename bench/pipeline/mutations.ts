import { newItem, type EmailShop } from './emailShop.js';
import { createHttpClient } from './httpClient.js';

/** Makes changes that cause an email each, by whatever API. */
export interface Mutator {
  /** @returns the key of the new item, and when the response was there */
  mutate(): Promise<{ readonly itemid: string; readonly answeredMs: number }>;
  close(): void;
}

const MUTATION = 'mutation ($input: itemInput) { create_item(input: $input) { item_id } }';

/** By `/query` of a web process. */
export function mutateRowpost(baseUrl: string, { token }: EmailShop, connections: number): Mutator {
  return mutator(`${baseUrl}/query`, token, connections, (item) => ({
    query: MUTATION,
    variables: { input: item },
  }));
}

/** By Directus's REST API, which responds with the key only. */
export function mutateDirectus(url: string, token: string, connections: number): Mutator {
  return mutator(`${url}items/item?fields=item_id`, token, connections, (item) => item);
}

/** By the web process of the bare hop, or of the program by hand. */
export function mutateByHand(url: string, connections: number): Mutator {
  return mutator(url, '', connections, (item) => item);
}

function mutator(
  url: string,
  token: string,
  connections: number,
  bodyOf: (item: ReturnType<typeof newItem>) => object,
): Mutator {
  const client = createHttpClient(url, token, connections);
  let turn = 0;
  return {
    async mutate() {
      const { body, atMs } = await client.post(JSON.stringify(bodyOf(newItem(turn++))));
      return { itemid: /"item_id":"?(\d+)/.exec(body)?.[1] ?? '', answeredMs: atMs };
    },
    close: () => client.close(),
  };
}
