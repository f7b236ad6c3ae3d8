import { expect } from 'chai';
import { factsOf, readRecords, valuesSeen } from '../../src/control/explain/conditionValues.js';
import { readKeyText } from '../../src/control/explain/readKeyText.js';
import {
  dependsOnCondition,
  explainDeletedRule,
  explainRule,
  type Evidence,
  type EventOfTable,
} from '../../src/control/explain/explainRule.js';
import type { Table } from '../../src/db/catalog/catalog.js';
import type { RowDelivery, TenantRule } from '../../src/db/outbox/eventsOfRow.js';

const RULE: TenantRule = {
  ruleid: '1',
  name: 'paid',
  operations: ['update'],
  targets: ['orders'],
  condition: null,
  enabled: true,
  createdSeconds: 100,
};
const EVENT: EventOfTable = {
  operation: 'update',
  target: 'orders',
  progress: 'evaluated',
  timeSeconds: 200,
};
const NOTHING: Evidence = {
  delivery: undefined,
  conditionResult: undefined,
  facts: { columns: [], related: [], unlike: [], neverHolds: undefined },
  records: { new: undefined, old: undefined, isLarge: false },
};
const DELIVERY: RowDelivery = {
  eventid: '9',
  ruleid: '1',
  deliveryid: '5',
  email_type: 'email',
  state: 'sent',
  status: 'sent',
  attempts: 1,
  error_code: null,
  error: null,
  next_attempt: null,
  sent_time: null,
};

describe('why a rule matched an event, or did not', () => {
  const reason = (
    rule: Partial<TenantRule>,
    event: Partial<EventOfTable> = {},
    evidence: Partial<Evidence> = {},
  ): string => explainRule({ ...RULE, ...rule }, { ...EVENT, ...event }, { ...NOTHING, ...evidence }).reason;

  it('is taken from the delivery, even if the rule has changed since', () => {
    expect(reason({ enabled: false, targets: ['customer'] }, {}, { delivery: DELIVERY })).to.equal('matched');
    const failed = { ...DELIVERY, error_code: 'CONDITION_FAILED', error: 'no number' };
    expect(reason({}, {}, { delivery: failed })).to.equal('condition_failed');
    expect(explainDeletedRule(DELIVERY)).to.deep.include({ name: null, reason: 'matched' });
  });

  it('is the first unmet requirement', () => {
    const late = { createdSeconds: 300 };
    expect(reason({ targets: ['a'], operations: ['insert'], enabled: false, ...late })).to.equal(
      'other_table',
    );
    expect(reason({ operations: ['insert'], enabled: false, ...late })).to.equal('other_operation');
    expect(reason({ enabled: false, ...late })).to.equal('disabled');
    expect(reason({ condition: 'new.a = 1', ...late })).to.equal('made_after');
    expect(reason({})).to.equal('changed_since');
  });

  it('ignores the age of the rule while the event is pending', () => {
    for (const progress of ['waiting', 'queued'] as const) {
      expect(reason({ createdSeconds: 300 }, { progress })).to.equal('will_match');
    }
  });

  it('depends on the condition only if nothing else decides', () => {
    const rule = { ...RULE, condition: 'new.a = 1' };
    expect(dependsOnCondition(rule, EVENT)).to.equal(true);
    expect(dependsOnCondition(RULE, EVENT)).to.equal(false);
    expect(dependsOnCondition({ ...rule, enabled: false }, EVENT)).to.equal(false);
    const failure = { code: 'CONDITION_FAILED', message: 'no number' } as const;
    const { condition } = rule;
    expect(reason({ condition }, {}, { conditionResult: true })).to.equal('changed_since');
    expect(reason({ condition }, { progress: 'queued' }, { conditionResult: true })).to.equal('will_match');
    expect(reason({ condition }, {}, { conditionResult: false })).to.equal('condition_false');
    expect(reason({ condition }, {}, { conditionResult: failure })).to.equal('condition_failed');
    expect(reason({ condition }, {}, {})).to.equal('not_evaluated');
  });

  describe('names the nulls that a comparison is not true of', () => {
    const columns = new Map(['status', 'total'].map((name) => [name, { sqlName: name }]));
    const table = { columns } as unknown as Table;
    const explain = (condition: string, old: object): string => {
      const records = readRecords({ new: '{"status": "paid"}', old: JSON.stringify(old), isTooLarge: false });
      const rule = { ...RULE, condition };
      const evidence = { ...NOTHING, conditionResult: false, facts: factsOf(rule, table), records } as const;
      return explainRule(rule, EVENT, evidence).explanation;
    };
    // Each would be true of any other value than the text.
    for (const condition of [
      "old.status != 'paid'",
      "old.status <> 'paid'",
      "new.status = 'paid' and old.status != 'paid'",
      "new.status = 'open' or old.status != new.status",
      "not old.status = 'paid'",
      "not (old.status = 'paid' or old.status = new.status)",
      "old.status not in ['paid', 'sent']",
      "old.status not like 'paid%'",
      "old.status not between 'o' and 'q'",
      "lower(old.status) != 'paid'",
    ])
      it(condition, () => {
        expect(explain(condition, { status: null })).to.match(/\(old\.status\): `is distinct from`/);
        expect(explain(condition, { status: 'paid' })).to.not.include('distinct');
      });
    // Each would be false of any other value, or compares nulls.
    for (const condition of [
      "old.status = 'paid'",
      "not old.status != 'paid'",
      "old.status in ['paid']",
      "old.status like 'p%'",
      'old.status != null',
      'old.status is not null',
      "old.status is not distinct from 'paid'",
    ])
      it(`but not: ${condition}`, () =>
        expect(explain(condition, { status: null })).to.equal('The condition is false.'));
  });

  it("shows the condition's values, truncated, and none of a large row", () => {
    const facts = {
      columns: [
        { record: 'new', name: 'total', sqlName: 'total' },
        { record: 'new', name: 'constructor', sqlName: 'constructor' },
        { record: 'old', name: 'note', sqlName: 'the note' },
      ],
      related: [],
      unlike: [],
      neverHolds: undefined,
    } as const;
    const note = 'x'.repeat(500);
    const shown = { new: '{"total": 12345678901234567890.50}', old: JSON.stringify({ 'the note': note }) };
    const [total, inherited, cut] = valuesSeen(facts, readRecords({ ...shown, isTooLarge: false }));
    expect(String(total?.value)).to.equal('12345678901234567890.50');
    expect(inherited).to.deep.equal({ name: 'new.constructor', value: null });
    expect(cut).to.deep.equal({ name: 'old.note', value: `${note.slice(0, 200)}…` });
    const large = { new: JSON.stringify({ total: 1, note: 'x'.repeat(300_000) }), old: null };
    expect(valuesSeen(facts, readRecords({ ...large, isTooLarge: false }))).to.deep.equal([]);
  });
});

describe('row keys as people type them', () => {
  it('may be a JSON object or plain text', () => {
    expect(readKeyText('7')).to.equal('7');
    expect(readKeyText(' {"a": 1, "b": "x"}')).to.deep.equal({ a: 1, b: 'x' });
    for (const text of ['{7', '[1]', '"x"', 'null', '']) expect(readKeyText(text)).to.equal(text);
  });
});
