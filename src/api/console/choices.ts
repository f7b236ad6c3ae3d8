import { readKeyText } from '../../control/explain/readKeyText.js';
import { isJsonObject, writeJson, textOfValue } from '../../foundation/json/losslessJson.js';
import type { Id } from './formValues.js';
import type { Visit } from './pageHandlers.js';

/** If a tenant has more, use GraphQL for the rest. */
const MAX_ROLES = 500;

const CHOICES = `query ($filter: String, $limit: Int) {
  role(filter: $filter, ordering: ["login", "name", "roleid"], limit: $limit) { roleid login name }
  Utility { available_schemas_and_tables }
}`;
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
