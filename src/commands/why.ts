import { withInstallation } from '../process/compose.js';
import { complete } from '../graphql/steps.js';
import { explainEvent, type ExplainedEvent, type Explanation } from '../control/explain/explainEvent.js';
import { byTable, PROGRESS, USES_CONDITION, type ExplainedRule } from '../control/explain/explainRule.js';
import { readKeyText } from '../control/explain/readKeyText.js';
import type { RowDelivery } from '../db/outbox/eventsOfRow.js';
import { findTenantSchema } from '../db/tenants/tenantStorage.js';
import { writeJson } from '../foundation/json/losslessJson.js';
import { ArgumentError, type Command } from './command.js';
import { readOptions, readTenantId } from './options.js';

/** Prints what became of a row's changes, and why nothing did. */
export const why: Command = async (args) => {
  const { tenantid, target, key } = readArguments(args);
  return withInstallation(async ({ config, database, openEngine }) => {
    const schema = await findTenantSchema(database.pool, tenantid);
    const explanation = await explainEvent(
      {
        database,
        engine: await openEngine(),
        retentionDays: config.retentionDays,
        inSteps: (steps) => Promise.resolve(complete(steps)),
        search: (work) => work(),
      },
      { tenantid, schema, target, key },
    );
    process.stdout.write(describe(explanation));
  });
};

function describe({ target, key, writers, row_exists, notes, events, has_more }: Explanation): string {
  const captured = { api: 'mutations of /query', all: 'every writer' };
  const lines = [
    `${target} ${key === null ? '' : show(key)}`.trimEnd(),
    `captured: ${writers === null ? 'nothing' : captured[writers]}`,
    ...(row_exists === null ? [] : [`row: ${row_exists ? 'exists' : 'does not exist now'}`]),
    ...notes.map((note) => `note: ${note}`),
    ...events.flatMap((event) => ['', ...describeEvent(event)]),
    ...(has_more ? ['', 'There are older changes.'] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function describeEvent(event: ExplainedEvent): readonly string[] {
  const { time, operation, progress, rules } = event;
  const [about, elsewhere] = byTable(rules);
  return [
    `${time} ${operation} ${writerOf(event)}: ${PROGRESS[progress]}`,
    ...about.flatMap(describeRule),
    ...(elsewhere > 0 ? [`  rules about other tables: ${elsewhere}`] : []),
  ];
}

function writerOf({ roleid, writer, application }: ExplainedEvent): string {
  if (roleid !== null) return `by role ${roleid}`;
  return `by SQL of ${printable(writer ?? '?')}${application ? ` (${printable(application)})` : ''}`;
}

function describeRule(rule: ExplainedRule): readonly string[] {
  const { ruleid, name, reason, explanation, condition, saw, delivery } = rule;
  return [
    `  rule ${ruleid} ${name === null ? '(deleted)' : show(name)}: ${reason}. ${printable(explanation)}`,
    ...(condition !== null && USES_CONDITION.has(reason) ? [`    condition: ${printable(condition)}`] : []),
    ...saw.map(({ name: column, value }) => `    ${column} = ${show(value)}`),
    ...(delivery ? [`    ${describeDelivery(delivery)}`] : []),
  ];
}

function describeDelivery(delivery: RowDelivery): string {
  const { deliveryid, email_type, state, attempts, error_code, error, next_attempt, sent_time } = delivery;
  return [
    `delivery ${deliveryid} of ${show(email_type)}: ${state}, attempts: ${attempts}`,
    ...(error_code === null ? [] : [`${error_code}: ${printable(error ?? '')}`]),
    ...(next_attempt === null ? [] : [`next attempt ${next_attempt}`]),
    ...(sent_time === null ? [] : [`sent ${sent_time}`]),
  ].join('; ');
}

const show = (value: unknown): string => printable(writeJson(value));

/** Data must not move the terminal's cursor. */
function printable(text: string): string {
  return text.replace(/\p{Control}+/gu, ' ');
}

function readArguments(args: readonly string[]): {
  readonly tenantid: number;
  readonly target: string;
  readonly key: unknown;
} {
  const { tenant, table, key } = readOptions(args, ['tenant', 'table', 'key']);
  const tenantid = readTenantId({ tenant });
  if (table === undefined) throw new ArgumentError('--table is missing');
  if (key === undefined) throw new ArgumentError('--key is missing');
  return { tenantid, target: table, key: readKeyText(key) };
}
