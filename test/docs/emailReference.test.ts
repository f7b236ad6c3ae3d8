import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { buildSchema, isEnumType, isObjectType } from 'graphql';
import { ALLOWED_HEADERS } from '../../src/email/headerNames.js';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const page = read('docs/reference/email.md');
const schema = buildSchema(read('test/control/schema.graphql'));

/** The first cells of the table below a line. */
function cellsBelow(head: string): readonly string[] {
  const [, rest = ''] = page.split(`\n${head}\n`);
  const rows = rest.slice(0, rest.indexOf('\n\n')).split('\n').slice(1);
  return rows.flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
}

/** The values that a column of the ledger may have. */
function valuesOf(column: string): readonly string[] {
  const sql = read('migrations/schema/65_deliveries.sql');
  const [, list = ''] = new RegExp(`check \\(${column} in\\s*\\(([^)]*)\\)`).exec(sql) ?? [];
  return [...list.matchAll(/'(\w+)'/g)].map(([, value = '']) => value);
}

describe('docs/reference/email.md', () => {
  it('has every reason that explains a rule', () => {
    const reasons = schema.getType('rule_reason');
    if (!isEnumType(reasons)) throw new Error('there is no enum rule_reason');
    expect(cellsBelow('| `reason` | Means |')).to.have.members(reasons.getValues().map(({ name }) => name));
  });

  it('has every state of a delivery, and every outcome of an attempt', () => {
    expect(valuesOf('state')).to.have.length.above(5);
    expect(cellsBelow('| State | Meaning | Ended by |')).to.have.members(valuesOf('state'));
    const [, outcomes = ''] = /Outcomes are (.*?)\./s.exec(page) ?? [];
    expect([...outcomes.matchAll(/`(\w+)`/g)].map(([, name]) => name)).to.have.members(valuesOf('outcome'));
  });

  it('has every event that is recorded, as has its column', () => {
    const [, kept = ''] =
      /const KEPT\b.*?\[(.*?)\]/s.exec(read('src/email/carriers/sendgrid/reports.ts')) ?? [];
    const events = [...kept.matchAll(/'(\w+)'/g)].map(([, event]) => event);
    expect(events).to.include('spamreport');
    const [, documented = ''] = /the carrier reports (.*?)\./s.exec(page) ?? [];
    expect([...documented.matchAll(/`(\w+)`/g)].map(([, event]) => event)).to.have.members(events);
    const column = schema.getType('email_event');
    const described = isObjectType(column) ? (column.getFields()['event']?.description ?? '') : '';
    expect(described.match(/\w+/g)?.filter((word) => word !== 'or')).to.have.members(events);
  });

  it('has every header that an email type may set', () => {
    const [, documented = ''] = /^`headers` takes (.*?)\. It rejects/ms.exec(page) ?? [];
    const names = [...documented.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    expect(names).to.have.members(ALLOWED_HEADERS.split(', '));
  });

  it('has every warning of a preview', () => {
    const sources = [
      'src/email/warnings.ts',
      'src/control/email/missingNames.ts',
      'src/control/email/unusedFilters.ts',
      'src/control/email/absentFiles.ts',
      'src/control/email/cutLists.ts',
    ];
    const codes = new Set(
      sources.flatMap((file) => [...read(file).matchAll(/code: '([A-Z_]+)'/g)].map((match) => match[1]!)),
    );
    const [, documented = ''] = /^- \*\*`warnings`\*\* are (.*?)^\n/ms.exec(page) ?? [];
    expect([...documented.matchAll(/`([A-Z]+_[A-Z]+)`/g)].map(([, code]) => code)).to.have.members([
      ...codes,
    ]);
  });
});
