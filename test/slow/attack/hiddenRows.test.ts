import { expect } from 'chai';
import type { Principal } from '../../../src/db/roles/principal.js';
import { Random } from '../../graphql/filter/random.js';
import { openShop, roleWith, type Shop } from '../../graphql/support/shop.js';
import { testSeed } from '../../support/randomNumbers.js';

const SEED = testSeed();
const REQUESTS = Number(process.env['FUZZ_CASES'] ?? 250);

/**
 * Non-interference: two tenants have the same visible rows and differ in the number and the content of hidden ones.
 * Whatever is requested, both respond with the same bytes, errors included.
 */
describe(`hidden rows change no response (SEED=${SEED})`, function () {
  let one: Shop;
  let other: Shop;
  before(async () => {
    [one, other] = [
      await openShop(tablesWith(new Random(SEED), 40)),
      await openShop(tablesWith(new Random(SEED + 1), 7)),
    ];
  });
  after(async () => {
    await one.close();
    await other.close();
  });

  const policies: Readonly<Record<string, Rules>> = {
    'of the row itself': { branch: 'shown = true', book: 'shown = true', tag: '' },
    'of two rules': {
      branch: 'shown = true and n > 1\nshown = true',
      book: 'shown = true and n >= 0\nshown = true',
      tag: 'id < 5',
    },
    'of related rows': { branch: 'shown = true', book: 'branch.shown = true and shown = true', tag: '' },
    'of whole tables': { branch: 'shown = true', book: 'shown = true and id < max(id)', tag: '' },
  };

  for (const [name, rules] of Object.entries(policies)) {
    it(`${REQUESTS} requests with policies ${name}`, async () => {
      const random = new Random(SEED + name.length);
      let errors = 0;
      let rows = 0;
      for (let i = 0; i < REQUESTS; i++) {
        const request = randomRequest(random);
        const [a, b] = await Promise.all(
          [one, other].map((shop) => shop.ask(request, {}, ruled(shop, rules))),
        );
        expect(a!.body, request).to.equal(b!.body);
        if (a!.errors) errors++;
        else if (!/\[\]|\[\{"(count|max)":(0|null)\}\]/.test(a!.body)) rows++;
      }
      // Neither refusals nor empty lists make up the most.
      expect(rows, 'responds with rows').to.be.above(REQUESTS / 5);
      expect(errors, 'errors').to.be.below(REQUESTS * 0.7);
    });
  }
});

type Rules = Readonly<Record<'branch' | 'book' | 'tag', string>>;

function ruled(shop: Shop, rules: Rules): Principal {
  const capabilities = ['select', 'insert', 'update', 'delete'];
  const given = Object.entries(rules).flatMap(([table, filters]) =>
    filters.split('\n').map((filter) => ({ capabilities, targets: [table], filter })),
  );
  return roleWith(shop, capabilities, [...given, { capabilities: ['select'], targets: ['book_tag'] }]);
}

/** Visible rows are the same whatever `random` says, and refer to visible rows; hidden ones are its business. */
function tablesWith(random: Random, hidden: number): string {
  const letter = (): string => `'${random.pick(['a', 'b', 'b1', 'zz', 'aab', '7'])}'`;
  const n = (): number => random.integer(20) - 8;
  const ids = Array.from({ length: hidden }, (_, i) => i + 1);
  return `
    create table branch (id int primary key, name text, n int, shown boolean not null, parent_id int references branch);
    create table book (id int primary key, branch_id int references branch, title text, n int, price numeric, shown boolean not null);
    create table tag (id int primary key, word text);
    create table book_tag (book_id int references book, tag_id int references tag, primary key (book_id, tag_id));
    create index on branch (name);
    create index on book (n);
    create index on book (title);
    create index on book (branch_id);
    insert into branch select i, 'b' || i % 3, i % 5, true, nullif(i / 2, 0) from generate_series(1, 12) i;
    insert into book select i, 1 + i % 12, case when i % 9 > 0 then chr(97 + i % 7) || i % 4 end, nullif(i % 11, 3) - 2, i % 13 * 1.5, true
      from generate_series(1, 60) i;
    insert into tag select i, 'w' || i % 4 from generate_series(1, 9) i;
    insert into book_tag select b, t from generate_series(1, 60) b, generate_series(1, 9) t where (b * 5 + t * 3) % 11 = 0;
    ${ids.map((i) => `insert into branch values (${900 + i}, ${letter()}, ${n()}, false, ${1 + random.integer(12)});`).join('')}
    ${ids.map((i) => `insert into book values (${900 + i}, ${random.pick([1 + random.integer(12), 900 + i])}, ${letter()}, ${n()}, ${n()}, false);`).join('')}
    ${ids.map((i) => `insert into book_tag values (${900 + i}, ${1 + random.integer(9)});`).join('')}`;
}

const PATHS: Readonly<Record<string, { number: string[]; text: string[] }>> = {
  book: {
    number: [
      'n',
      'id',
      'price',
      'branch.n',
      'branch.parent.n',
      'tag_collection.id',
      'branch.book_collection.n',
    ],
    text: [
      'title',
      'branch.name',
      'branch.parent.name',
      'tag_collection.word',
      'branch.branch_collection.name',
    ],
  },
  branch: {
    number: [
      'n',
      'id',
      'parent.n',
      'book_collection.n',
      'book_collection.tag_collection.id',
      'branch_collection.n',
    ],
    text: ['name', 'parent.name', 'book_collection.title', 'book_collection.tag_collection.word'],
  },
  tag: {
    number: ['id', 'book_collection.n', 'book_collection.branch.n'],
    text: ['word', 'book_collection.title'],
  },
};

function condition(random: Random, table: string, depth = 2): string {
  if (depth > 0 && random.chance(45)) {
    const [a, b] = [condition(random, table, depth - 1), condition(random, table, depth - 1)];
    return random.pick([`(${a} and ${b})`, `(${a} or ${b})`, `not (${a})`]);
  }
  const { number, text } = PATHS[table]!;
  const [x, y, t] = [random.pick(number), random.pick(number), random.pick(text)];
  const k = random.integer(12) - 2;
  const single = number.filter((path) => !path.includes('_collection'));
  const many = number.filter((path) => path.includes('_collection'));
  return random.pick([
    `${x} ${random.pick(['=', '!=', '<', '>='])} ${k}`,
    `${x} between ${k} and ${k + 4}`,
    `${x} in [${k}, ${k + 1}, null]`,
    `${x} is ${random.pick(['', 'not '])}null`,
    `${x} is distinct from ${k}`,
    `${random.pick(single)} + ${k} > ${random.pick(single)}`,
    `sqrt(${x}) > 1`,
    `${y} % 3 = 1`,
    `${t} like '${random.pick(['a%', '%1', 'b_', '%'])}'`,
    `${t} = '${random.pick(['a1', 'b1', 'b0', 'w2', 'zz'])}'`,
    `${t} >= 'b'`,
    `upper(${t}) in ['A1', 'B1', 'W1']`,
    `length(${t}) = 2`,
    `${random.pick(single)} ${random.pick(['<', '=', '>='])} ${random.pick(['max', 'avg', 'count', 'min'])}(${random.pick(single)})`,
    `${random.pick(['count', 'sum', 'max'])}(${random.pick(many)}) > ${k}`,
  ]);
}

function randomRequest(random: Random): string {
  const table = random.pick(Object.keys(PATHS));
  const filter = random.chance(80) ? `filter: ${JSON.stringify(condition(random, table))}` : '';
  const ordering = `ordering: ${JSON.stringify([random.pick(ORDERINGS[table]!)])}`;
  const window = random.chance(30) ? `limit: ${1 + random.integer(8)}, offset: ${random.integer(4)}` : '';
  const given = (...list: string[]): string => {
    const present = list.filter((item) => item !== '');
    return present.length === 0 ? '' : `(${present.join(', ')})`;
  };
  switch (random.integer(5)) {
    case 0: {
      const aggregate = random.pick(['count', 'max', 'sum', 'min', 'avg']);
      const keys = random.pick(KEYS[table]!);
      const having = random.chance(40) ? `having: "${aggregate} > ${random.integer(5)}"` : '';
      return `{ Aggregates { x: ${aggregate}${given(`subquery: "{ ${table} { id ${keys} } }"`, filter, having)} } }`;
    }
    case 1:
      return `{ ${table}${given(filter, ordering, window)} ${FIELDS[table]!(given(`filter: ${JSON.stringify(condition(random, 'book', 1))}`))} }`;
    case 2:
      return `{ a: ${table}${given(filter)} { id } b: ${table}${given(ordering, window)} { id } }`;
    case 3: {
      // Of a row that is hidden in both, in one of them, or in neither but absent.
      const id = 900 + random.integer(60);
      return random.pick([
        `mutation { update_book(id: ${id}, input: { n: 1 }) { id } }`,
        `mutation { delete_book(id: ${id}) { id } }`,
        `mutation { create_book(input: { id: 5000, branch_id: ${id}, shown: true }) { id } }`,
        `{ book(filter: "id = ${id}") { id } }`,
      ]);
    }
    default:
      return `{ ${table}${given(filter, ordering, window)} { id __typename } }`;
  }
}

const ORDERINGS: Readonly<Record<string, string[]>> = {
  book: ['n desc', 'title', 'branch.name, n', 'branch.parent.n desc nulls last', 'price'],
  branch: ['name desc', 'parent.n', 'n, name'],
  tag: ['word', 'id desc'],
};
const KEYS: Readonly<Record<string, string[]>> = {
  book: ['', 'title', 'branch { name }', 'branch { parent { n } } n'],
  branch: ['', 'name', 'parent { name }'],
  tag: ['', 'word'],
};
const FIELDS: Readonly<Record<string, (books: string) => string>> = {
  book: () => '{ id title branch { name parent { name } } tag_collection { word } }',
  branch: (books) => `{ id name book_collection${books} { id title } parent { name } }`,
  tag: (books) => `{ id book_collection${books} { id branch { name } } }`,
};
