import { readFileSync } from 'node:fs';

/** A column of the tenant's tables that a starter needs, and what such columns are called, the likeliest first. */
export interface StarterColumn {
  readonly kind?: 'text' | 'number' | 'time';
  readonly like: readonly string[];
}

/** A name in a starter's texts that is a column. */
export interface StarterName extends StarterColumn {
  readonly label: string;
  readonly path: string;
  /** What is in its place if there is no such column; an empty text by default. */
  readonly else?: string;
}

/** A list of rows that refer to the row, by the names that its template gives their columns. */
export interface StarterList {
  readonly path: string;
  readonly like: readonly string[];
  readonly columns: Readonly<Record<string, StarterColumn>>;
  /** If the rows have a price instead of an amount: what is in place of the amount. */
  readonly price?: { readonly path: string; readonly by: string; readonly column: StarterColumn };
}

/**
 * Emails to start from. They use the table names of the demo, and show the sample until a table is chosen. The layout is a
 * table of 600 px with inline styles, which works in both Outlook and Gmail, with dark mode where supported.
 */
export interface Starter {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** An `email_typesInput`. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What templates see instead of a row and query results. */
  readonly sample: Readonly<Record<string, unknown>>;
  /** How it becomes an email about other tables. */
  readonly fit: {
    /** What such tables are called, the likeliest first. */
    readonly tables: readonly string[];
    readonly names: readonly StarterName[];
    readonly list?: StarterList;
    /** The query that reads what is behind relations. */
    readonly outvar?: string;
  };
}

/** Each is `starters/<name>.jinja2`, its template, and `starters/<name>.json`, the rest of it. */
export const STARTERS: readonly Starter[] = ['order', 'shipment', 'invitation', 'receipt', 'digest'].map(
  (name) => {
    const { input, ...rest } = JSON.parse(read(`${name}.json`)) as Omit<Starter, 'name'>;
    return { name, ...rest, input: { ...input, template: read(`${name}.jinja2`).trimEnd() } };
  },
);

export function findStarter(name: unknown): Starter | undefined {
  return STARTERS.find((starter) => starter.name === name);
}

/** What starters have in place of the tenant's address and links. */
const PLACEHOLDERS = [/1 Example Street, 12345 Example City/, /https:\/\/example\.com[^\s"'<>{}]*/];

interface Placeholder {
  readonly field: 'template';
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly hint: string;
}

/** The first of each kind of placeholder that is still in a template. */
export function findPlaceholders(template: string): readonly Placeholder[] {
  return PLACEHOLDERS.flatMap((pattern) => {
    const found = pattern.exec(template);
    if (!found) return [];
    const before = template.slice(0, found.index).split('\n');
    return {
      field: 'template' as const,
      line: before.length,
      column: (before.at(-1) ?? '').length + 1,
      message: `"${found[0]}" is a placeholder`,
      hint: 'Write your own there.',
    };
  });
}

function read(file: string): string {
  return readFileSync(new URL(`starters/${file}`, import.meta.url), 'utf8');
}
