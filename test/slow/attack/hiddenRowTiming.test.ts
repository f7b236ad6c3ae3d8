import { expect } from 'chai';
import type { Principal } from '../../../src/db/roles/principal.js';
import { openShop, roleWith, type Shop } from '../../graphql/support/shop.js';
import { Random } from '../../graphql/filter/random.js';
import { testSeed } from '../../support/randomNumbers.js';

/**
 * Hidden and absent rows must take equally long. Each request is asked 300 times about a hidden row and 300 times about
 * none, in pairs whose order is random. The statistic is Wilcoxon's signed-rank sum of the differences within the
 * pairs, normalized: z. Without an effect |z| exceeds 6 once in 500 million times, whatever the distribution of the times; an
 * effect in every pair gives 15. Load from elsewhere meets both of a pair alike.
 */
const PAIRS = 300;
const Z_LIMIT = 6;
/**
 * Where an index finds the row, its policy is evaluated, once: docs/explanation/security.md says so, and on a quiet machine it can be
 * measured, as 0.07 ms. The caller's own condition takes milliseconds, of which a request is otherwise a part.
 */
const MAX_POLICY_MS = 1;
const MAX_POLICY_SHARE = 0.5;
const SEED = testSeed();

/** One title takes some 20 µs to turn over: the maximum of all takes some milliseconds. */
const DDL = `
  create table emp (id int primary key, name text, visible boolean not null);
  create table post (
    id int primary key, emp_id int not null references emp, title text, body text, priority int, place int, visible boolean not null
  );
  create index on post (emp_id);
  create index on post (place);
  create table tag (id int primary key, name text);
  create table post_tag (post_id int references post, tag_id int references tag, primary key (post_id, tag_id));
  insert into emp values (1, 'shown', true), (2, 'hidden', false);
  insert into emp select i, repeat('abcdefghij', 300), true from generate_series(3, 150) i;
  insert into post select i, 1, repeat('abcdefghij', 300), 'body1 ' || i, i, i, true from generate_series(1, 150) i;
  insert into post values (9001, 2, 'x', 'body2 secret', 7777, 7777, false);
  insert into tag values (1, 'one'), (2, 'two');
  insert into post_tag select i, 1 from generate_series(1, 100) i;
  insert into post_tag values (9001, 2);
`;
/** Slow, once it is computed. */
const SLOW = 'max(length(reverse(upper(title))))';

describe("hidden rows can't be detected by timing", function () {
  let shop: Shop;
  before(async () => {
    shop = await openShop(DDL);
    await shop.test.database.pool.query('analyze');
  });
  after(() => shop.close());

  const all = { capabilities: ['select'], targets: ['emp', 'tag', 'post_tag'] };
  const ruled = (...filters: readonly string[]): Principal =>
    roleWith(
      shop,
      ['select', 'update', 'delete'],
      [
        all,
        ...filters.map((filter) => ({
          capabilities: ['select', 'update', 'delete'],
          targets: ['post'],
          filter,
        })),
      ],
    );
  const policies: Readonly<Record<string, () => Principal>> = {
    'of a related row': () => ruled('emp.visible = true'),
    'of two rules': () => ruled('emp.visible = true', "visible = true and title != 'x' and body != 'y'"),
    'of the row itself': () =>
      ruled("title != 'x' and visible = true and not (id > 9000 and visible = false)"),
    'of the whole table': () => ruled(`${SLOW} > 100 and visible = true`),
  };

  const list = (filter: string): string => `{ post(filter: ${JSON.stringify(filter)}, limit: 3) { id } }`;
  /** The query that finds the hidden row if it could see it, and the one that finds none. */
  const requests: Readonly<Record<string, (found: boolean) => string>> = {
    'a filter, then an aggregate of the whole table': (found) =>
      list(`body like '${found ? 'body2' : 'body3'}%' and priority = ${SLOW}`),
    'an indexed column, then an aggregate': (found) =>
      list(`place = ${found ? 7777 : 8888} and id = ${SLOW}`),
    OR: (found) => list(`(body like '${found ? 'body2' : 'body3'}%' or id = -1) and priority = ${SLOW}`),
    NOT: (found) => list(`not (body not like '${found ? 'body2' : 'body3'}%' or priority != ${SLOW})`),
    // The second argument is computed for rows whose body is like the pattern.
    'a collection': (found) =>
      `{ emp(filter: ${JSON.stringify(`coalesce(nullif(post_collection.body like '${found ? 'body2' : 'body3'}%', true),
        id = max(length(reverse(upper(name)))))`)}) { id } }`,
    'a nested list': (found) =>
      `{ emp { id post_collection(filter: ${JSON.stringify(`body like '${found ? 'body2' : 'body3'}%' and priority = ${SLOW}`)}) { id } } }`,
    'many-to-many': (found) =>
      `{ tag { id post_collection(filter: ${JSON.stringify(`body like '${found ? 'body2' : 'body3'}%' and priority = ${SLOW}`)}) { id } } }`,
    Aggregates: (found) =>
      `{ Aggregates { count(subquery: "{ post { id emp { name } } }", filter: ${JSON.stringify(`body like '${found ? 'body2' : 'body3'}%' and priority = ${SLOW}`)}, having: "count > 0") } }`,
    'an ordering over a relation': (found) =>
      `{ post(filter: ${JSON.stringify(`body like '${found ? 'body2' : 'body3'}%' and priority = ${SLOW}`)}, ordering: ["emp.name desc", "title"], limit: 1) { id } }`,
    'an update by key': (found) =>
      `mutation { update_post(id: ${found ? 9001 : 9002}, input: { priority: 1 }) { id } }`,
    'a delete by key': (found) => `mutation { delete_post(id: ${found ? 9001 : 9002}) { id } }`,
  };

  const FOUND_BY_INDEX = new Set([
    'an indexed column, then an aggregate',
    'an update by key',
    'a delete by key',
  ]);
  const cases = [
    ...Object.keys(requests).map((request) => ['of a related row', request] as const),
    ...['a filter, then an aggregate of the whole table', 'OR', 'Aggregates', 'many-to-many'].flatMap(
      (request) => ['of two rules', 'of the row itself'].map((policy) => [policy, request] as const),
    ),
    ...['an indexed column, then an aggregate', 'an update by key', 'a delete by key'].map(
      (request) => ['of the whole table', request] as const,
    ),
  ];
  for (const [policy, request] of cases) {
    it(`policy ${policy}: ${request}`, async () => {
      const { z, medians } = await compare(shop, policies[policy]!(), requests[request]!);
      if (policy === 'of a related row' && FOUND_BY_INDEX.has(request)) {
        // A busy machine makes both longer, and what is between them.
        const limit = Math.max(MAX_POLICY_MS, MAX_POLICY_SHARE * Math.min(...medians));
        expect(Math.abs(medians[0] - medians[1]), `medians ${medians.join(' and ')} ms`).to.be.below(limit);
        return;
      }
      expect(Math.abs(z), `medians ${medians.join(' and ')} ms`).to.be.below(Z_LIMIT);
    });
  }

  it('control: one row is distinguishable from none where both may be read', async () => {
    const { z } = await compare(shop, shop.root, requests['a filter, then an aggregate of the whole table']!);
    expect(Math.abs(z)).to.be.above(Z_LIMIT);
  });
});

async function compare(
  shop: Shop,
  principal: Principal,
  query: (found: boolean) => string,
): Promise<{ z: number; medians: [number, number] }> {
  const ask = async (found: boolean): Promise<{ ms: number; body: string }> => {
    const start = performance.now();
    const { body } = await shop.ask(query(found), {}, principal);
    return { ms: performance.now() - start, body };
  };
  const random = new Random(SEED);
  const times: [hidden: number, absent: number][] = [];
  for (let i = 0; i < PAIRS; i++) {
    const hiddenFirst = random.chance(50);
    const first = await ask(hiddenFirst);
    const second = await ask(!hiddenFirst);
    if (!principal.isAdmin) expect(first.body).to.equal(second.body);
    times.push(hiddenFirst ? [first.ms, second.ms] : [second.ms, first.ms]);
  }
  return {
    z: signedRank(times.map(([a, b]) => a - b)),
    medians: [median(times.map(([a]) => a)), median(times.map(([, b]) => b))],
  };
}

/** Wilcoxon's signed-rank statistic, normalized. */
function signedRank(differences: readonly number[]): number {
  const ranked = differences.filter((d) => d !== 0).sort((a, b) => Math.abs(a) - Math.abs(b));
  const sum = ranked.reduce((total, d, index) => total + Math.sign(d) * (index + 1), 0);
  const n = ranked.length;
  return sum / Math.sqrt((n * (n + 1) * (2 * n + 1)) / 6);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}
