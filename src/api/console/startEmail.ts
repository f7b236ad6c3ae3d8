import { ownValue } from '../../foundation/ownValue.js';
import { readTable, type Table } from './choices.js';
import { literal } from './deliveryFilter.js';
import { textOf, type Values } from './formValues.js';
import type { Visit } from './pageHandlers.js';
import { fitStarter, guessTable, type FittedName, type FittedTable } from './starterFit.js';
import type { Starter } from './starters.js';

const KNOWN = `query ($names: String) {
  email_types(filter: $names) { email_type }
  newest: email_types(ordering: ["createtime desc", "email_type"], limit: 1) { sender }
  Utility { tables { name writable } }
}`;
/** More relations of a table are not looked behind. */
const MAX_RELATIONS = 20;
/** How often a starter is used before its name has to be chosen. */
const MAX_NAMES = 20;

/** A starter as it opens: with a free name, the sender of the newest email, and the columns of a table of the tenant. */
export interface Start {
  readonly input: Values;
  readonly about: Values;
  /** What the page says of the columns; undefined if there is no table. */
  readonly fitting?: {
    readonly table: string;
    readonly tables: readonly string[];
    readonly names: readonly FittedName[];
    readonly isComplete: boolean;
  };
}

/** @param given the query string, with the table and the columns if they were chosen */
export async function startEmail(query: Visit['query'], starter: Starter, given: Values): Promise<Start> {
  const names = namesLike(String(starter.input['email_type']));
  const known = await query<{
    readonly email_types: readonly { readonly email_type: string }[];
    readonly newest: readonly { readonly sender: string | null }[];
    readonly Utility: { readonly tables: readonly { readonly name: string; readonly writable: boolean }[] };
  }>(KNOWN, { names: `email_type in [${names.map(literal).join(', ')}]` });
  const taken = new Set(known.email_types.map(({ email_type }) => email_type));
  const email_type = names.find((name) => !taken.has(name)) ?? '';
  const ofTenant = withSender(starter.input, known.newest[0]?.sender ?? null);
  const tables = known.Utility.tables.filter(({ writable }) => writable).map(({ name }) => name);
  const asked = textOf(given, 'table');
  const name = tables.includes(asked) ? asked : guessTable(starter, tables);
  if (name === undefined) return { input: { ...ofTenant, email_type }, about: {} };
  const table = await readFittedTable(query, name);
  const chosen = starter.fit.names.map((_, index) => ownValue(given, `column_${index}`));
  const fit = fitStarter(
    { ...starter, input: ofTenant },
    table,
    chosen.every((column) => typeof column === 'string') ? chosen : [],
  );
  const isComplete = fit.names.every(({ column }) => column !== '');
  return {
    input: { ...fit.input, email_type },
    about: { table: name },
    fitting: { table: name, tables, names: fit.names, isComplete },
  };
}

/** `receipt`, `receipt_2`, … */
function namesLike(name: string): readonly string[] {
  return Array.from({ length: MAX_NAMES }, (_, index) => (index === 0 ? name : `${name}_${index + 1}`));
}

async function readFittedTable(query: Visit['query'], name: string): Promise<FittedTable> {
  const { relations, ...table } = (await readTable(query, name)) ?? { name, columns: [], relations: [] };
  const shown = relations.filter(({ kind }) => kind !== 'many-to-many').slice(0, MAX_RELATIONS);
  const behind = new Map<string, Table | undefined>();
  for (const target of new Set(shown.map((relation) => relation.target)))
    behind.set(target, await readTable(query, target));
  return {
    ...table,
    relations: shown.map(({ target, ...relation }) => ({
      ...relation,
      columns: behind.get(target)?.columns ?? [],
    })),
  };
}

const PLACEHOLDER = 'Your company';

/** The sender of another email, whose name also stands where the starter has a placeholder. */
function withSender(input: Values, sender: string | null): Values {
  if (sender === null || sender === '') return input;
  const name = plainNameIn(sender)?.replaceAll('&', '&amp;');
  const template = String(input['template']);
  return { ...input, sender, ...(name ? { template: template.replaceAll(PLACEHOLDER, () => name) } : {}) };
}

/** @returns undefined if there is none, or it holds other than what names of companies do, such as a template's signs */
function plainNameIn(sender: string): string | undefined {
  const name = sender
    .slice(0, Math.max(0, sender.indexOf('<')))
    .trim()
    .replace(/^"|"$/g, '');
  return /^[\p{L}\p{N} .,&'-]+$/u.test(name) ? name : undefined;
}
