import { readFileSync } from 'node:fs';

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

function read(file: string): string {
  return readFileSync(new URL(`starters/${file}`, import.meta.url), 'utf8');
}
