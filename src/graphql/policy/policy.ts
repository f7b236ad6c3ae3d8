import { hash } from 'node:crypto';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { GrantedRule, Principal } from '../../db/roles/principal.js';
import { filled, gap, join, sql, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { compileRuleFilter } from '../filter/compile.js';
import type { Condition } from '../filter/environment.js';
import { widest, type ReadExtent } from '../filter/rows/readExtent.js';
import { parseFilter } from '../filter/syntax/parser.js';
import type { AliasSource, Predicate, RowAccess } from '../filter/rows/scope.js';
import { complete, type Steps } from '../steps.js';
import type { BrokenRules } from './brokenRules.js';

export type Capability = 'select' | 'insert' | 'update' | 'delete' | 'upload' | 'download';

/** The rows that a capability grants: all, none, or those that satisfy the condition. */
export type Reach = Predicate | 'all' | 'none';

/** Which rows of a tenant's tables a principal may read and change. */
export interface Policy {
  /** To be called within `inSteps`. Throws AppError DOCUMENT_TOO_COMPLEX. */
  readonly reach: (capability: Capability, table: Table, alias: Sql) => Reach;
  /** `reach` for select, in the form the filter compiler needs. */
  readonly access: RowAccess;
  /** Plans what needs rules. Where these are many, they are compiled in steps first, and then it plans again. */
  readonly inSteps: <T>(plan: () => T) => Steps<T>;
}

export interface PolicyDeps {
  readonly catalog: Catalog;
  readonly aliases: AliasSource;
  readonly brokenRules: Pick<BrokenRules, 'report'>;
}

const EVERYTHING: RowAccess = { predicate: () => 'all' };

/** For conditions written by an administrator, which see every row. */
export const unrestricted: Policy = {
  reach: () => 'all',
  access: EVERYTHING,
  // eslint-disable-next-line require-yield -- there are no rules to compile
  *inSteps(plan) {
    return plan();
  },
};

/** Characters of rules that are compiled in one go, which takes some milliseconds. */
const STEP_CHARACTERS = 5_000;
/** Characters of the rules of all tables that a document names, counted each time: as many as a tenant's rules may have. */
const MAX_CHARACTERS = 1_000_000;

/** Those that grant a capability on a table. */
interface GrantingRules {
  readonly rules: readonly GrantedRule[];
  readonly grantAll: boolean;
  /** Of their filters. */
  readonly characters: number;
}

/** The rules for a capability on a table, over a row that is left as a gap. */
type CompiledRules = (Sql & { readonly reads: ReadExtent }) | 'none';

/** Thrown where more rules are needed than are compiled in one go. */
class RulesToCompile extends Error {
  constructor(readonly compile: () => Steps<unknown>) {
    super('rules have to be compiled in steps');
  }
}

/**
 * Default deny: rules only grant, and several are combined with OR. A role also needs the capability itself. Root and
 * `admin` bypass all rules. A rule's own filter sees all related rows, as its author does.
 */
export function policyOf(principal: Principal, deps: PolicyDeps): Policy {
  if (principal.isAdmin) return unrestricted;
  const compiled = new Map<string, CompiledRules>();
  const granting = new Map<string, GrantingRules>();
  // Looked for once: a document may name a table a thousand times, and there may be ten thousand rules, for many tables each.
  const rulesFor = (capability: Capability, table: Table): GrantingRules => {
    const key = `${capability} ${table.name}`;
    const known = granting.get(key);
    if (known) return known;
    const rules = principal.rules.filter((rule) => grants(rule, capability, table));
    const found = {
      rules,
      grantAll: rules.some((rule) => isBlank(rule.filter)),
      characters: rules.reduce((sum, { filter }) => sum + (filter?.length ?? 0), 0),
    };
    granting.set(key, found);
    return found;
  };
  let ofThisStep = 0;
  let ofDocument = 0;
  const reach = (capability: Capability, table: Table, alias: Sql): Reach => {
    if (!principal.capabilities.includes(capability)) return 'none';
    const { rules, grantAll, characters } = rulesFor(capability, table);
    if (grantAll) return 'all';
    ofDocument += characters;
    if (ofDocument > MAX_CHARACTERS) throw tooManyRules();
    const key = `${capability} ${table.name}`;
    const compile = function* (): Steps<CompiledRules> {
      const made = yield* compileRules(principal.tenantid, rules, table, deps);
      compiled.set(key, made);
      return made;
    };
    const known = compiled.get(key);
    if (known === undefined) {
      ofThisStep += characters;
      if (ofThisStep > STEP_CHARACTERS) throw new RulesToCompile(compile);
    }
    const made = known ?? complete(compile());
    return made === 'none' ? made : Object.assign(filled(made, alias), { reads: made.reads });
  };
  const inSteps = function* <T>(plan: () => T): Steps<T> {
    const ofOthers = ofDocument;
    for (;;) {
      try {
        return plan();
      } catch (error) {
        if (!(error instanceof RulesToCompile)) throw error;
        yield;
        yield* error.compile();
        ofThisStep = 0;
        ofDocument = ofOthers;
      }
    }
  };
  const access: RowAccess = {
    predicate: (table, alias) => reach('select', table, alias),
    denies: (table) =>
      !principal.capabilities.includes('select') || rulesFor('select', table).rules.length === 0,
  };
  return { reach, access, inSteps };
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

function* compileRules(
  tenantid: number,
  rules: readonly GrantedRule[],
  table: Table,
  deps: PolicyDeps,
): Steps<CompiledRules> {
  const share = 1 / rules.length;
  const conditions: Condition[] = [];
  let ofThisStep = 0;
  for (const rule of rules) {
    const condition = compileRule(tenantid, rule, share, table, gap, deps);
    if (condition) conditions.push(condition);
    ofThisStep += rule.filter?.length ?? 0;
    if (ofThisStep <= STEP_CHARACTERS) continue;
    yield;
    ofThisStep = 0;
  }
  if (conditions.length === 0) return 'none';
  const texts = conditions.map((condition) => sql`(${condition.sql})`);
  return Object.assign(sql`(${join(texts, ' or ')})`, { reads: widest(conditions) });
}

function tooManyRules(): AppError {
  return new AppError(
    'DOCUMENT_TOO_COMPLEX',
    `The policy rules of the tables that the request names have more than ${MAX_CHARACTERS} characters, counted each time.`,
    { hint: 'Name fewer tables, or write fewer and shorter rules.' },
  );
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
