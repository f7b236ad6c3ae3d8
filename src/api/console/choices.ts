import { readKeyText } from '../../control/explain/readKeyText.js';
import { isJsonObject, writeJson, textOfValue } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { Id } from './formValues.js';
import type { Visit } from './pageHandlers.js';

/** If a tenant has more, use GraphQL for the rest. */
const MAX_ROLES = 500;

const CHOICES = `query ($filter: String, $limit: Int) {
  role(filter: $filter, ordering: ["login", "name", "roleid"], limit: $limit) { roleid login name }
  Utility { available_schemas_and_tables }
}`;
const CONFIGS = `{
  oidc_config(ordering: ["confid"], limit: 1000) { confid providerid redirect_uri }
  oidc_providers(limit: 1000) { providerid name }
}`;
const TABLE = `query ($name: String) { Utility { tables(name: $name) {
  name columns { name type in_primary_key } relations { field kind target }
} } }`;
const RULES = '{ policy_rule(limit: 1000) { capabilities targets } }';
const ROWS = `query ($target: String!) { Utility { recent_rows(target: $target) { key label } } }`;

export interface Role {
  readonly roleid: Id;
  readonly login: string | null;
  readonly name: string | null;
}

/** The options of a form: the tenant's tables, and its roles with a display name. */
export interface Choices {
  readonly tables: readonly string[];
  readonly roles: readonly { readonly roleid: string; readonly label: string }[];
}

export async function readChoices(query: Visit['query']): Promise<Choices> {
  const { role, Utility } = await query<{
    readonly role: readonly Role[];
    readonly Utility: { readonly available_schemas_and_tables: Readonly<Record<string, readonly string[]>> };
  }>(CHOICES, { filter: 'deleted = false', limit: MAX_ROLES });
  return {
    tables: Object.values(Utility.available_schemas_and_tables).flat(),
    roles: role.map(({ roleid, login, name }) => ({
      roleid: String(roleid),
      label: `${login ?? name ?? 'role'} (${String(roleid)})`,
    })),
  };
}

/** The tables that policy rules let the role read rows of. */
export async function readReadableTables(query: Visit['query']): Promise<readonly string[]> {
  const { policy_rule } = await query<{
    readonly policy_rule: readonly {
      readonly capabilities: readonly string[];
      readonly targets: readonly string[];
    }[];
  }>(RULES);
  const targets = policy_rule.flatMap((rule) => (rule.capabilities.includes('select') ? rule.targets : []));
  return [...new Set(targets)].toSorted();
}

/** The tenant's configurations of identity providers, with the names of these. */
export async function readConfigs(
  query: Visit['query'],
): Promise<readonly { readonly confid: Id; readonly provider: string | undefined }[]> {
  const { oidc_config, oidc_providers } = await query<{
    oidc_config: readonly { readonly confid: Id; readonly providerid: Id }[];
    oidc_providers: readonly { readonly providerid: Id; readonly name: string }[];
  }>(CONFIGS);
  const names = new Map(oidc_providers.map(({ providerid, name }) => [String(providerid), name]));
  return oidc_config.map((each) => ({ ...each, provider: names.get(String(each.providerid)) }));
}

export interface Table {
  readonly name: string;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly in_primary_key: boolean;
  }[];
}

export interface RelatedTable extends Table {
  readonly relations: readonly { readonly field: string; readonly kind: string; readonly target: string }[];
}

export async function readTable(query: Visit['query'], name: string): Promise<RelatedTable | undefined> {
  const { Utility } = await query<{ Utility: { readonly tables: readonly RelatedTable[] } }>(TABLE, { name });
  return Utility.tables[0];
}

export const keyColumns = ({ columns }: Pick<Table, 'columns'>): readonly string[] =>
  columns.filter((column) => column.in_primary_key).map(({ name }) => name);

/** Each column of the row's primary key, as text. */
export function keyOf(
  table: Pick<Table, 'columns'>,
  row: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(keyColumns(table).map((name) => [name, textOfValue(ownValue(row, name))]));
}

/** Rows of a table to choose from, with their keys as people type them. */
export async function readRecentRows(
  query: Visit['query'],
  target: string,
): Promise<readonly { readonly key: string; readonly label: string }[]> {
  const { Utility } = await query<{
    readonly Utility: { readonly recent_rows: readonly { readonly key: unknown; readonly label: string }[] };
  }>(ROWS, { target });
  return Utility.recent_rows.map(({ key, label }) => ({ key: keyText(key), label }));
}

/** The inverse of `readKeyText`: the value of a single-column key, or an object as JSON. */
export function keyText(key: unknown): string {
  if (!isJsonObject(key)) return textOfValue(key);
  const [only, ...others] = Object.values(key);
  if (others.length > 0) return writeJson(key);
  const text = textOfValue(only);
  return readKeyText(text) === text ? text : writeJson(key);
}
