import type { Relation, Table } from '../../../src/db/catalog/catalog.js';

export type Row = Readonly<Record<string, unknown>>;
export type Random = (below: number) => number;

/** A linear congruential generator: the same numbers on every run. */
export function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** Tables with references to each other and to themselves, join tables among them, and rows in them. */
export function randomTables(random: Random): string {
  const parts: string[] = [];
  const sizes: number[] = [];
  const tables = 2 + random(4);
  for (let t = 0; t < tables; t++) {
    const size = 3 + random(20);
    const targets = Array.from({ length: random(3) }, () => random(t + 1));
    const references = targets.map((target, i) => `, r${i}_id int references t${target}`).join('');
    parts.push(`create table t${t} (id int primary key, n int, s text${references});`);
    for (let id = 1; id <= size; id++) {
      const keys = targets.map((target) => keyOrNull(random, target === t ? id : sizes[target]! + 1));
      parts.push(
        `insert into t${t} values (${[id, valueOf(random, number), valueOf(random, letter), ...keys].join()});`,
      );
    }
    sizes.push(size);
  }
  for (let j = 0; j < random(3); j++) {
    const [a, b] = [random(tables), random(tables)];
    parts.push(
      `create table j${j} (a int references t${a}, b int references t${b}, n int, primary key (a, b));`,
    );
    parts.push(
      `insert into j${j} select a.id, b.id, a.id % 5 from t${a} a, t${b} b where (a.id * 7 + b.id) % 4 = 1;`,
    );
  }
  return parts.join('\n');
}

/** An expression of the filter language, and what it means for a row. */
export interface Condition {
  readonly text: string;
  readonly holds: (row: Row) => boolean;
}

/** On the table's own columns. */
export function randomCondition(table: Table, random: Random): Condition {
  const columns = [...table.columns.values()].filter((column) => column.name !== 's');
  const { name } = columns[random(columns.length)]!;
  const bound = random(10);
  const valueIn = (row: Row): number | null => row[name] as number | null;
  switch (random(table.columns.has('s') ? 6 : 5)) {
    case 0:
      return { text: `${name} > ${bound}`, holds: (row) => valueIn(row) !== null && valueIn(row)! > bound };
    case 1:
      return { text: `${name} is null`, holds: (row) => valueIn(row) === null };
    case 2:
      return {
        text: `${name} in [${bound}, ${bound + 2}]`,
        holds: (row) => [bound, bound + 2].includes(valueIn(row) ?? -1),
      };
    case 3:
      return {
        text: `not (${name} = ${bound} or ${name} < 2)`,
        holds: (row) => valueIn(row) !== null && valueIn(row) !== bound && valueIn(row)! >= 2,
      };
    case 4:
      return {
        text: `${name} % 3 != ${bound % 3}`,
        holds: (row) => valueIn(row) !== null && valueIn(row)! % 3 !== bound % 3,
      };
    default:
      return { text: `s >= 'c'`, holds: (row) => row['s'] !== null && (row['s'] as string) >= 'c' };
  }
}

/** A condition on the rows behind a relation: some of them satisfies it. */
export function behind(
  relation: Relation,
  inner: Condition,
  related: (row: Row) => readonly Row[],
): Condition | undefined {
  // What is null or negated behind a to-one relation without a row is the business of tests of its own.
  if (!/^\w+ (>|in)/.test(inner.text)) return undefined;
  return { text: `${relation.field}.${inner.text}`, holds: (row) => related(row).some(inner.holds) };
}

const number = (random: Random): string => String(random(10));
const letter = (random: Random): string => `'${'abcdef'[random(6)]!}'`;

function valueOf(random: Random, make: (random: Random) => string): string {
  return random(5) === 0 ? 'null' : make(random);
}

function keyOrNull(random: Random, below: number): string {
  return below <= 1 || random(5) === 0 ? 'null' : String(1 + random(below - 1));
}
