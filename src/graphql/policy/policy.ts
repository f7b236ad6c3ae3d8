import { hash } from 'node:crypto';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { GrantedRule, Principal } from '../../db/roles/principal.js';
import { join, sql, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { compileRuleFilter } from '../filter/compile.js';
import type { Condition } from '../filter/environment.js';
import { widest } from '../filter/rows/readExtent.js';
import { parseFilter } from '../filter/syntax/parser.js';
import type { AliasSource, Predicate, RowAccess } from '../filter/rows/scope.js';
import type { BrokenRules } from './brokenRules.js';

export type Capability = 'select' | 'insert' | 'update' | 'delete' | 'upload' | 'download';

/** The rows that a capability grants: all, none, or those that satisfy the condition. */
export type Reach = Predicate | 'all' | 'none';

/** Which rows of a tenant's tables a principal may read and change. */
export interface Policy {
  readonly reach: (capability: Capability, table: Table, alias: Sql) => Reach;
  /** `reach` for select, in the form the filter compiler needs. */
  readonly access: RowAccess;
}

export interface PolicyDeps {
  readonly catalog: Catalog;
  readonly aliases: AliasSource;
  readonly brokenRules: Pick<BrokenRules, 'report'>;
}

const EVERYTHING: RowAccess = { predicate: () => 'all' };

/** For conditions written by an administrator, which see every row. */
export const unrestricted: Policy = { reach: () => 'all', access: EVERYTHING };

/**
 * Default deny: rules only grant, and several are combined with OR. A role also needs the capability itself. Root and
 * `admin` bypass all rules. A rule's own filter sees all related rows, as its author does.
 */
export function policyOf(principal: Principal, deps: PolicyDeps): Policy {
  if (principal.isAdmin) return unrestricted;
  const reach = (capability: Capability, table: Table, alias: Sql): Reach => {
    if (!principal.capabilities.includes(capability)) return 'none';
    const rules = principal.rules.filter((rule) => grants(rule, capability, table));
    const share = 1 / rules.length;
    if (rules.some((rule) => isBlank(rule.filter))) return 'all';
    const conditions = rules.flatMap(
      (rule) => compileRule(principal.tenantid, rule, share, table, alias, deps) ?? [],
    );
    if (conditions.length === 0) return 'none';
    const texts = conditions.map((condition) => sql`(${condition.sql})`);
    return Object.assign(sql`(${join(texts, ' or ')})`, { reads: widest(conditions) });
  };
  const access: RowAccess = {
    predicate: (table, alias) => reach('select', table, alias),
    denies: (table) =>
      !principal.capabilities.includes('select') ||
      !principal.rules.some((rule) => grants(rule, 'select', table)),
  };
  return { reach, access };
}

/**
 * Principals with equal fingerprints share plans: the same rules compile to the same SQL, and the caller is a parameter.
 */
export function policyFingerprint(principal: Principal): string {
  if (principal.isAdmin) return 'all';
  const known = fingerprints.get(principal);
  if (known !== undefined) return known;
  const text = JSON.stringify([
    principal.capabilities,
    principal.rules.map((rule) => [rule.capabilities, rule.targets, rule.filter]),
  ]);
  const fingerprint = hash('sha256', text, 'base64');
  fingerprints.set(principal, fingerprint);
  return fingerprint;
}

/** Values of `$_PRINCIPAL` in filters and rules. */
export function principalInputs(principal: Principal): Readonly<Record<string, unknown>> {
  const { roleid, tenantid, parentid, classes, capabilities, children } = principal;
  return { roleid, tenantid, parentid, classes, capabilities, children };
}

const fingerprints = new WeakMap<Principal, string>();

function grants(rule: GrantedRule, capability: Capability, table: Table): boolean {
  return (
    rule.capabilities.includes(capability) &&
    (rule.targets.includes(table.name) || rule.targets.includes(table.sqlName))
  );
}

function isBlank(filter: string | null): boolean {
  return filter === null || filter.trim() === '';
}

/** A rule that no longer matches its table grants nothing. */
function compileRule(
  tenantid: number,
  rule: GrantedRule,
  share: number,
  table: Table,
  alias: Sql,
  { catalog, aliases, brokenRules }: PolicyDeps,
): Condition | undefined {
  try {
    const scope = {
      catalog,
      // The whole table, as the rule's author sees it, even if the principal sees less.
      table: catalog.tables.get(table.name) ?? table,
      alias,
      aliases,
      access: EVERYTHING,
      filterVariable: undefined,
    };
    return compileRuleFilter(parseFilter(rule.filter ?? ''), scope, share);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    brokenRules.report(tenantid, rule.ruleid, table.name, error.code);
    return undefined;
  }
}
