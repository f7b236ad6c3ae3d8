/** A text that may be sent as SQL. Only this file makes them; `npm run check` finds statements that are anything else. */
export type SqlText = string & { readonly isSqlText: true };

/** The type of an argument that is an `SqlText`, or a constant whose every character the compiler knows. */
// eslint-disable-next-line @typescript-eslint/no-generated-empty-object-type -- it lacks no property of a pattern's
export type Fixed<T extends string> = Record<never, never> extends Record<T, 1> ? SqlText : T;

/**
 * SQL as pieces with holes. Text comes only from the template literals in our own source, from quoted identifiers and
 * from other pieces; every value is a parameter, read from the request's inputs when the statement runs. So a piece
 * can be compiled once, cached, and run with other values.
 */
export class Sql {
  /** Makes the type nominal: no object of other origin passes for one. */
  declare private readonly isSql: true;

  /** `texts` has one item more than `slots`: text, hole, text, hole, …, text. */
  constructor(
    readonly texts: readonly string[],
    readonly slots: readonly Slot[],
  ) {}
}

/** Provides a parameter's value when the statement runs. */
export type Slot = (inputs: Inputs) => unknown;

/** What a compiled statement is run with. */
export interface Inputs {
  /** GraphQL variables, coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Literals lifted out of the filter expression that a variable holds. */
  readonly literals?: (variable: string) => readonly unknown[];
  /** Values of `$_PRINCIPAL`. */
  readonly principal: Readonly<Record<string, unknown>>;
}

export const NO_INPUTS: Inputs = { variables: {}, principal: {} };

/** A statement ready to send: text with $1, $2, … and the slots that fill them. */
export interface Statement {
  readonly text: SqlText;
  readonly slots: readonly Slot[];
}

/**
 * Tag for templates: sql`select ${identifier('a')} from t where b = ${param(slot, 'int4')}`. Only pieces and whole numbers may
 * be embedded.
 */
export function sql(texts: TemplateStringsArray, ...pieces: readonly (Sql | number)[]): Sql {
  const builder = new Builder(texts[0] ?? '');
  pieces.forEach((piece, index) => {
    builder.add(piece instanceof Sql ? piece : wholeNumber(piece), texts[index + 1] ?? '');
  });
  return builder.done();
}

/**
 * Tag for a whole statement, embedding the same: its text, to be sent with values for the $1, $2, … written in it. Pieces
 * with parameters of their own need `toStatement`.
 */
export function statement(texts: TemplateStringsArray, ...pieces: readonly (Sql | number)[]): SqlText {
  return toText(sql(texts, ...pieces));
}

/** The text of a piece without parameters. */
export function toText({ texts, slots }: Sql): SqlText {
  if (slots.length > 0) throw new TypeError('The statement has parameters: use toStatement.');
  return texts.join('') as SqlText;
}

/** SQL of a tenant, for a session that is logged in as its role: never for one of the service. */
export function tenantScript(text: string): SqlText {
  return text as SqlText;
}

/** A constant as an `SqlText`. */
export function fixed<const T extends string>(text: T & Fixed<T>): SqlText {
  return text as SqlText;
}

/** A statement that PostgreSQL has built by `format`, with %I for names and %L for texts. Lint wants a reason at each use. */
export function formatted(text: string): SqlText {
  return text as SqlText;
}

/** A statement as a part of another. */
export function written(text: SqlText): Sql {
  return new Sql([text], []);
}

/** Statements as one text. */
export function inOrder(statements: readonly SqlText[]): SqlText {
  return statements.join(';\n') as SqlText;
}

export const empty = new Sql([''], []);

/** A quoted name, or several joined by dots: `"schema"."table"`. */
export function identifier(...names: readonly string[]): Sql {
  return new Sql([names.map((name) => `"${name.replaceAll('"', '""')}"`).join('.')], []);
}

/** A quoted text constant, for names that must be part of the plan (JSON keys). For values use `param`. */
export function textConstant(text: string): Sql {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return new Sql([text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted], []);
}

/** The text of `textConstant`. */
export function literal(text: string): string {
  return textConstant(text).texts.join('');
}

/** The text of `identifier`, for messages and as a value: PostgreSQL reads names so. */
export function quoted(...names: readonly string[]): string {
  return identifier(...names).texts.join('');
}

/** `"column" = value`, as in SET: no comparison. */
export function assignment(column: string, value: Sql): Sql {
  return sql`${identifier(column)} = ${value}`;
}

/** A parameter with its PostgreSQL type, a name from the catalog such as `int4`, `text[]` or `"my"."enum"`. */
export function param(slot: Slot, type: string): Sql {
  return new Sql(['', `::${checkedType(type)}`], [slot]);
}

/** The same value on every run. */
export function constant(value: unknown, type: string): Sql {
  return param(() => value, type);
}

/** The same value on every run, of the type that PostgreSQL infers; or what is computed in SQL. */
export function value(given: unknown): Sql {
  return given instanceof Sql ? given : new Sql(['', ''], [() => given]);
}

/** Values by column; those that are undefined are left out. */
type ColumnValues = Readonly<Record<string, unknown>>;

const given = (values: ColumnValues): [string, unknown][] =>
  Object.entries(values).filter(([, each]) => each !== undefined);

/** `insert into rowpost.table (…) values (…)` */
export function insertInto(table: string, values: ColumnValues): Sql {
  const columns = given(values);
  const names = columns.map(([name]) => identifier(name));
  const row = columns.map(([, each]) => value(each));
  return sql`insert into ${identifier('rowpost', table)} (${join(names)}) values (${join(row)})`;
}

/** `"a" = …, "b" = …` */
export function assignments(values: ColumnValues): Sql {
  return join(given(values).map(([name, each]) => assignment(name, value(each))));
}

/** `"a" = … and "b" = …` */
export function equalities(values: ColumnValues): Sql {
  return join(
    given(values).map(([name, each]) => sql`${identifier(name)} = ${value(each)}`),
    ' and ',
  );
}

/** An integer in the statement's text, for values that the planner must know, such as a limit. Otherwise use `param`. */
export function wholeNumber(value: number): Sql {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
  return new Sql([String(value)], []);
}

/** A type as the catalog writes it: `int4`, `"shop"."mood"`, `text[]`, `numeric(10, 2)`. */
export function typeName(type: string): Sql {
  return new Sql([checkedType(type)], []);
}

/** Names in quotes, or such as need none, then bounds and brackets. */
const TYPE =
  /^(?:[a-z_][a-z0-9_]*|"(?:[^"\0]|"")+"(\."(?:[^"\0]|"")+")?)(?:\(-?\d+(?:, ?-?\d+)?\))?(?:\[\])*$/;

/** A name without a schema is PostgreSQL's own type, whatever else has that name in the search_path. */
function checkedType(type: string): string {
  const match = TYPE.exec(type);
  if (!match) throw new TypeError(`${JSON.stringify(type)} is not a type's name`);
  return match[1] === undefined ? `pg_catalog.${type}` : type;
}

/** Lists have commas, unless told otherwise. */
export function join(
  pieces: readonly Sql[],
  separator:
    ', ' | ' and ' | ' or ' | ' operator(pg_catalog.||) ' | ' + ' | ' union all ' | ' ' | '\n' = ', ',
): Sql {
  const builder = new Builder('');
  pieces.forEach((piece, index) => {
    builder.add(piece, index < pieces.length - 1 ? separator : '');
  });
  return builder.done();
}

/** Concatenates pieces. */
class Builder {
  readonly #texts: string[] = [];
  readonly #slots: Slot[] = [];
  #last: string;

  constructor(start: string) {
    this.#last = start;
  }

  add(piece: Sql, after: string): void {
    piece.texts.forEach((text, index) => {
      if (index > 0) {
        this.#texts.push(this.#last);
        this.#last = '';
      }
      this.#last += text;
    });
    this.#last += after;
    // Not as arguments: there may be more than a call can have.
    for (const slot of piece.slots) this.#slots.push(slot);
  }

  done(): Sql {
    return new Sql([...this.#texts, this.#last], this.#slots);
  }
}

const GAP: Slot = () => {
  throw new Error('a gap was left');
};

/** Stands for a piece that is not known yet. */
export const gap = new Sql(['', ''], [GAP]);

/** The piece with `by` in place of each gap. */
export function filled({ texts, slots }: Sql, by: Sql): Sql {
  const builder = new Builder(texts[0] ?? '');
  slots.forEach((slot, index) => {
    builder.add(slot === GAP ? by : new Sql(['', ''], [slot]), texts[index + 1] ?? '');
  });
  return builder.done();
}

/** Numbers the holes. */
export function toStatement(piece: Sql): Statement {
  let text = piece.texts[0] ?? '';
  for (let i = 1; i < piece.texts.length; i++) text += `$${i}${piece.texts[i] ?? ''}`;
  return { text: text as SqlText, slots: piece.slots };
}

/** The parameters of one run. */
export function bind({ slots }: Pick<Statement, 'slots'>, inputs: Inputs): unknown[] {
  return slots.map((slot) => slot(inputs));
}
