import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';

/** The restricted catalog of each tenant's anonymous clients; rebuilt when their grants change. */
const ofAnonymous = new WeakMap<Catalog, Catalog>();

/**
 * The tables whose existence a principal may learn of. For anonymous clients these are the ones that a rule grants, so a
 * table without a grant behaves like one that doesn't exist; any role that signs in may learn of all the tenant's tables.
 */
export function visibleCatalog(principal: Principal, catalog: Catalog): Catalog {
  if (!isAnonymous(principal)) return catalog;
  const targets = new Set(
    principal.rules
      .filter((rule) => rule.capabilities.some((name) => principal.capabilities.includes(name)))
      .flatMap((rule) => rule.targets),
  );
  const version = `${catalog.version} clients ${JSON.stringify([...targets].sort())}`;
  const known = ofAnonymous.get(catalog);
  if (known?.version === version) return known;
  const granted = [...catalog.tables].filter(
    ([name, { sqlName }]) => targets.has(name) || targets.has(sqlName),
  );
  const names = new Set(granted.map(([name]) => name));
  const tables = new Map(granted.map(([name, table]) => [name, withoutOthers(table, names)]));
  const visible = { ...catalog, version, tables, problems: [] };
  ofAnonymous.set(catalog, visible);
  return visible;
}

function withoutOthers(table: Table, names: ReadonlySet<string>): Table {
  const relations = [...table.relations].filter(
    ([, relation]) =>
      names.has(relation.target) && (relation.kind !== 'many-to-many' || names.has(relation.through)),
  );
  return { ...table, relations: new Map(relations) };
}
