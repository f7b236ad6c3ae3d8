// What it costs the engine to refuse hostile documents, filters and inputs, beside what an honest request costs.
// Arguments: milliseconds for each.
import { describeMachine } from '../support/report.js';
import { openShop, roleWith, SHOP_DDL } from '../../test/graphql/support/shop.js';
import { endRun } from '../../test/support/teardown.js';

const FOR_MS = Number(process.argv[2] ?? 1_000);
const many = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ');

interface Request {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
}

/** Every text is made anew for each call, so that nothing is remembered. */
const requests: Readonly<Record<string, (n: number) => Request>> = {
  'an honest list (plan known)': () => ({
    query: '{ customer(limit: 10) { name orders_collection { total } } }',
  }),
  'an honest list (new text)': (n) => ({
    query: `{ a${n}: customer(limit: 10) { name orders_collection { total } } }`,
  }),
  '10,000 aliases': (n) => ({ query: `{ ${many(10_000, (i) => `a${n}_${i}: customer { name }`)} }` }),
  'as many aliases as tokens allow': (n) => ({
    query: `{ ${many(3_900, (i) => `a${n}_${i}: customer { name }`)} }`,
  }),
  '50,000 brackets': (n) => ({ query: `${'{'.repeat(50_000)}${n}` }),
  'relations 40 deep': (n) => ({
    query: `{ a${n}: customer ${'{ orders_collection { customer '.repeat(20)}{ name }${' } }'.repeat(20)} }`,
  }),
  'fragments that multiply to 10^12': (n) => ({
    query: `{ a${n}: customer { ...f0 } } ${many(12, (i) => {
      const inner = i < 11 ? `...f${i + 1}` : 'name';
      return `fragment f${i} on customer { ${many(10, (j) => `a${j}: orders_collection { customer { ${inner} } }`)} }`;
    })}`,
  }),
  'one field 10,000 times': (n) => ({ query: `{ a${n}: customer { ${'name '.repeat(10_000)} } }` }),
  'introspection that goes round': (n) => ({
    query: `{ a${n}: __schema { types ${'{ fields { type '.repeat(5)}{ name }${' } }'.repeat(5)} } }`,
  }),
  '500 unknown fields': (n) => ({ query: `{ a${n}: customer { ${many(500, (i) => `no${i}`)} } }` }),
  'a filter of 100,000 characters': (n) => filtered(`name = '${'x'.repeat(100_000)}${n}'`),
  'a filter 10,000 deep': (n) => filtered(`${'('.repeat(10_000)}${n}${')'.repeat(10_000)} = 1`),
  'a filter of 5,000 conditions': (n) => filtered(many(5_000, (i) => `or name = 'x${n}_${i}'`).slice(3)),
  'a filter over 60 relations': (n) =>
    filtered(many(60, (i) => `and orders_collection.order_item_collection.product = 'x${n}_${i}'`).slice(4)),
  'a list of 100,000 values': (n) => filtered(`customer_id in [${n}${',1'.repeat(100_000)}]`),
};

const shop = await openShop(SHOP_DDL);
const clerk = roleWith(
  shop,
  ['select'],
  [{ capabilities: ['select'], targets: ['customer', 'orders', 'order_item'] }],
);
console.log(`\nCost of a response of the engine, one after the other\n${describeMachine()}\n`);
console.log('| | response | ms (mean) | worst ms |\n| --- | --- | --- | --- |');
for (const [name, request] of Object.entries(requests)) {
  for (let n = 0; n < 3; n++) await ask(request(-n - 1));
  const endsAt = performance.now() + FOR_MS;
  let calls = 0;
  let totalMs = 0;
  let worstMs = 0;
  let response = '';
  while (performance.now() < endsAt || calls === 0) {
    const next = request(calls);
    const startedAt = performance.now();
    response = await ask(next);
    const took = performance.now() - startedAt;
    calls += 1;
    totalMs += took;
    worstMs = Math.max(worstMs, took);
  }
  console.log(`| ${name} | ${response} | ${(totalMs / calls).toFixed(2)} | ${worstMs.toFixed(1)} |`);
}
await shop.close();
await endRun();

/** @returns the code of the first error, or `data` */
async function ask({ query, variables }: Request): Promise<string> {
  const { body } = await shop.engine.execute(
    clerk,
    { query, ...(variables ? { variables } : {}) },
    { allowMutation: true },
  );
  return /"code":"(\w+)"/.exec(body)?.[1] ?? 'data';
}

function filtered(filter: string): Request {
  return { query: 'query ($filter: String) { customer(filter: $filter) { name } }', variables: { filter } };
}
