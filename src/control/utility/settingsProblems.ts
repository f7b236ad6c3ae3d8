import type { Catalog } from '../../db/catalog/catalog.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { isTransient } from '../../email/transientErrors.js';
import { AppError } from '../../foundation/errors.js';
import type { DataEngine } from '../../graphql/dataEngine.js';
import { complete } from '../../graphql/steps.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import { requireWritable } from '../email/checkEmailRule.js';
import type { Row } from '../derive/declaration.js';
import { readRows } from '../derive/rows.js';
import { emailRule } from '../objects/emailRule.js';
import { emailTypes } from '../objects/emailTypes.js';
import { policyRule } from '../objects/policyRule.js';
import { requireKnownTables } from '../derive/references.js';
import { checkRuleFilter } from '../roles/checkRuleFilter.js';
import { checkStoredQuery, type QueryCheck } from '../email/checkStoredQuery.js';

/** Something a setting requires of the tables, with a description of the setting. */
interface Need {
  readonly of: string;
  /** Returns what is missing, or throws it as AppError. */
  readonly check: () => string | undefined | Promise<void>;
}

/**
 * Finds email types, enabled email rules and policy rules of a tenant that no longer match its tables, and returns one
 * sentence each. Repeats the checks made on saving, except for templates, where a missing name renders as nothing.
 */
export async function findSettingsProblems(
  db: StatementRunner,
  engine: DataEngine,
  tenantid: number,
  schema: string,
): Promise<readonly string[]> {
  const [catalog, types, rules, policyRules] = await Promise.all([
    engine.catalog(tenantid, schema),
    readRows(db, emailTypes, { tenantid }),
    readRows(db, emailRule, { tenantid }),
    readRows(db, policyRule, { tenantid }),
  ]);
  // Enabling a rule checks it completely.
  const enabled = rules.filter((rule) => rule.enabled);
  const needs = [
    ...types.flatMap((type) => queriesOf(type, (query) => engine.checkEmailQuery(tenantid, schema, query))),
    ...enabled.flatMap((rule) =>
      targetsOf(rule, catalog, (target, condition) =>
        engine.checkCondition(tenantid, schema, target, condition),
      ),
    ),
    ...types.flatMap((type) => attachmentsOf(type, enabled, catalog)),
    ...policyRules.flatMap((rule) => grantsOf(rule, catalog)),
  ];
  const problems: string[] = [];
  for (const { of, check } of needs) {
    try {
      const missing = await check();
      if (missing !== undefined) problems.push(`${of}: ${missing}`);
    } catch (error) {
      if (!(error instanceof AppError) || isTransient(error)) throw error;
      problems.push(`${of}: ${error.message}`);
    }
  }
  return problems;
}

function queriesOf({ email_type, queries }: Row<typeof emailTypes>, check: QueryCheck): readonly Need[] {
  return queries.map((query, index) => ({
    of: `email type "${email_type}", queries[${index}]`,
    check: () => checkStoredQuery(query, check),
  }));
}

function targetsOf(
  { name, targets, condition }: Row<typeof emailRule>,
  catalog: Catalog,
  checkCondition: (target: string, condition: string) => Promise<void>,
): readonly Need[] {
  return targets.map((target) => ({
    of: `email rule "${name}"`,
    async check() {
      for (const table of requireKnownTables(catalog, [target])) requireWritable(table);
      if (condition !== null) await checkCondition(target, condition);
    },
  }));
}

/** Attachments are files of the event, of a query, or of a column of the row, which depends on each rule's tables. */
function attachmentsOf(
  { email_type, attachments, queries }: Row<typeof emailTypes>,
  rules: readonly Row<typeof emailRule>[],
  catalog: Catalog,
): readonly Need[] {
  const given = new Set(['file', ...queries.map(({ outvar }) => outvar)]);
  const columns = attachments.filter((name) => !given.has(name));
  const targets = new Set(rules.flatMap((rule) => (rule.email_type === email_type ? rule.targets : [])));
  const tables = [...targets].flatMap((target) => catalog.tables.get(target) ?? []);
  return tables.flatMap((table) =>
    columns.map((name) => ({
      of: `email type "${email_type}", attachments`,
      check: () =>
        [...table.columns.values()].some(({ sqlName }) => sqlName === name)
          ? undefined
          : `"${table.name}" has no column "${name}", and no query is named so.`,
    })),
  );
}

function grantsOf({ name, targets, filter }: Row<typeof policyRule>, catalog: Catalog): readonly Need[] {
  return targets.map((target) => ({
    of: `policy rule "${name}"`,
    check() {
      // As rules grant: by either name.
      const table = [...catalog.tables.values()].find(
        (served) => served.name === target || served.sqlName === target,
      );
      if (!table) throw unknownTable(catalog, target);
      if (filter !== null) complete(checkRuleFilter(filter, [table], catalog));
      return undefined;
    },
  }));
}
