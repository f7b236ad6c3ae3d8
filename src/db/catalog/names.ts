/*
 * Names of the database in GraphQL (docs/reference/query.md): a legal name stays exactly as it is. In others every character that
 * GraphQL refuses becomes `_`, a leading digit gets `_` before it, and leading `__` (GraphQL's own) becomes `_`.
 * A name that is taken gets `_2`, `_3`, …, and the catalog's problems say so.
 */

/** Names of the GraphQL schema's own types and root fields. */
const RESERVED_TABLE_NAMES = new Set([
  ...['Query', 'Mutation', 'Subscription', 'Utility', 'Aggregates', 'UtilityMutation', 'OnConflict', 'Cast'],
  ...[
    'Int',
    'Float',
    'String',
    'Boolean',
    'ID',
    'BigInt',
    'Decimal',
    'UUID',
    'Date',
    'Time',
    'DateTime',
    'Base64',
  ],
  ...['GenericScalar', 'FileObject', 'FileObjectInput', 'FileUpload'],
]);

export function graphqlName(sqlName: string): string {
  const legal = sqlName.replace(/[^_0-9A-Za-z]/g, '_').replace(/^__+/, '_');
  return /^[0-9]/.test(legal) || legal === '' ? `_${legal}` : legal;
}

/** Assigns names of one kind within one scope, each once. */
export class NameScope {
  readonly #taken: Set<string>;
  /** By wanted name, the number that was taken last: all of a schema's names may become the same. */
  readonly #numbers = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  static forTables(): NameScope {
    return new NameScope(RESERVED_TABLE_NAMES);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** @returns the wanted name, with a number if it is taken */
  take(wanted: string): string {
    let name = wanted;
    let number = this.#numbers.get(wanted) ?? 1;
    while (this.#taken.has(name)) {
      number += 1;
      // `_` would become `__2`, which is GraphQL's own.
      name = graphqlName(`${wanted}_${number}`);
    }
    if (number > 1) this.#numbers.set(wanted, number);
    this.#taken.add(name);
    return name;
  }
}

/** The arguments of mutations of one row, besides those that give its key. */
export const OWN_ARGUMENTS = {
  update: ['input'],
  delete: [],
  upload: ['input'],
  delete_file: ['storagekey', 'filenum'],
} as const;

/** By key column, the argument that gives it: one that is named like an argument of the mutation's own has another name. */
export function keyArguments(
  columns: readonly string[],
  mutation: keyof typeof OWN_ARGUMENTS,
): ReadonlyMap<string, string> {
  const own: readonly string[] = OWN_ARGUMENTS[mutation];
  const scope = new NameScope([...own, ...columns]);
  return new Map(columns.map((name) => [name, own.includes(name) ? scope.take(name) : name]));
}
