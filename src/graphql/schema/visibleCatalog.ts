import { hash } from 'node:crypto';
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
  const { targets, fingerprint } = grantsOf(principal);
  const version = `${catalog.version} clients ${fingerprint}`;
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

interface Grants {
  readonly targets: ReadonlySet<string>;
  /** Equal for the same targets. */
  readonly fingerprint: string;
}

/** Rules may have a million characters of targets, and principals are the same object for all requests of a second. */
const grants = new WeakMap<Principal, Grants>();

function grantsOf(principal: Principal): Grants {
  const known = grants.get(principal);
  if (known) return known;
  const targets = new Set(
    principal.rules
      .filter((rule) => rule.capabilities.some((name) => principal.capabilities.includes(name)))
      .flatMap((rule) => rule.targets),
  );
  const made = { targets, fingerprint: hash('sha256', JSON.stringify([...targets].sort()), 'base64') };
  grants.set(principal, made);
  return made;
}

function withoutOthers(table: Table, names: ReadonlySet<string>): Table {
  const relations = [...table.relations].filter(
    ([, relation]) =>
      names.has(relation.target) && (relation.kind !== 'many-to-many' || names.has(relation.through)),
  );
  return { ...table, relations: new Map(relations) };
}
