import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { isNobody, type Principal } from '../../db/principal.js';

/** Of each tenant's catalog the one that its visitors see; made anew when what they are granted changes. */
const ofVisitors = new WeakMap<Catalog, Catalog>();

/**
 * The tables that a principal may know of: for anonymous visitors those that a rule grants them, so that a table without
 * a grant answers like one that does not exist; for every role that signs in, all of the tenant's.
 */
export function visibleCatalog(principal: Principal, catalog: Catalog): Catalog {
  if (!isNobody(principal)) return catalog;
  const targets = new Set(
    principal.rules
      .filter((rule) => rule.capabilities.some((name) => principal.capabilities.includes(name)))
      .flatMap((rule) => rule.targets),
  );
  const version = `${catalog.version} visitors ${JSON.stringify([...targets].sort())}`;
  const known = ofVisitors.get(catalog);
  if (known?.version === version) return known;
  const granted = [...catalog.tables].filter(
    ([name, { sqlName }]) => targets.has(name) || targets.has(sqlName),
  );
  const names = new Set(granted.map(([name]) => name));
  const tables = new Map(granted.map(([name, table]) => [name, withoutOthers(table, names)]));
  const visible = { ...catalog, version, tables, problems: [] };
  ofVisitors.set(catalog, visible);
  return visible;
}

function withoutOthers(table: Table, names: ReadonlySet<string>): Table {
  return { ...table, relations: new Map([...table.relations].filter(([, { target }]) => names.has(target))) };
}
