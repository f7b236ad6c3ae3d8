import { expect } from 'chai';
import type { EmailType } from '../../../src/db/email/emailTypes.js';
import { composeEmail, type ComposeDeps, type NamedType } from '../../../src/email/composeEmail.js';
import type { EmailTrigger } from '../../../src/email/email.js';
import {
  recordsForTemplates,
  markNumbers,
  removeMarks,
  type MarkDeps,
} from '../../../src/email/templateRecords.js';
import { addGraphqlNames } from '../../../src/email/graphqlNames.js';
import { AppError } from '../../../src/foundation/errors.js';
import { limitValues } from '../../../src/control/request/documentLimits.js';
import { membersOf } from '../../../src/foundation/json/jsonText.js';
import { cpuTimer } from '../../support/cpuTime.js';

/** As large as a row may be that an email is about. */
const CHARACTERS = 8_000_000;
/** The worker sends other tenants' emails in between. Each of these took 4 to 7 s, or overflowed the stack. */
const MAX_MS = 2_000;

const filled = (item: string): string => item.repeat(CHARACTERS / item.length);

const RECORDS: readonly (readonly [what: string, record: string])[] = [
  ['numbers', `{"price":1.50,"odd-name":2,"list":[${filled('1.0,')}1]}`],
  ['objects', `{"price":1.50,"odd-name":2,"list":[${filled('{"a":1.0},')}1]}`],
  ['empty lists', `{"price":1.50,"odd-name":2,"list":[${filled('[],')}1]}`],
  ['escaped quotes', `{"price":1.50,"odd-name":2,"text":"${filled('\\"')}"}`],
  ['line ends', `{"price":1.50,"odd-name":2,"text":"${filled('\\n')}"}`],
  ['backslashes', `{"price":1.50,"odd-name":2,"text":"${filled('\\\\')}"}`],
];

describe('attack: a row of millions of values, which an email is about', () => {
  for (const [what, record] of RECORDS) {
    it(`is prepared for templates in little time: ${what}`, () => {
      const cpuMs = cpuTimer();
      const prepared = addGraphqlNames(
        markNumbers(record, new Map([['price', { kind: 'numeric' as const }]])),
      );
      expect(cpuMs()).to.be.below(MAX_MS);
      expect(prepared.startsWith('{"price":1.50E0,"odd-name":2,')).to.equal(true);
      expect(prepared.endsWith(',"odd_name":2}')).to.equal(true);
      expect(removeMarks(prepared).length).to.equal(record.length + ',"odd_name":2'.length);
    });
  }

  /** With a table whose columns `list` and `price` are numeric. */
  const deps = {
    principals: { load: () => Promise.resolve({ schema: 'tenant_1' }) },
    engine: {
      catalog: () =>
        Promise.resolve({
          tables: new Map([
            [
              'item',
              {
                columns: new Map(
                  ['price', 'list'].map((sqlName) => [sqlName, { sqlName, type: { kind: 'numeric' } }]),
                ),
              },
            ],
          ]),
        }),
    },
  };
  const changeTo = (record: string): EmailTrigger => ({
    tenantid: 1,
    queryRoleid: 1,
    operation: 'insert',
    target: 'item',
    new: record,
    old: null,
  });

  it('is prepared in steps, between which other emails are sent', async () => {
    const record = `{"price":1.50,"list":[${'1,'.repeat(900_000)}1]}`;
    let turns = 0;
    const watch = setInterval(() => (turns += 1), 1);
    const { new: marked } = await recordsForTemplates(deps as unknown as MarkDeps, changeTo(record));
    clearInterval(watch);
    expect(marked?.length).to.equal(record.length + 2 * 900_002);
    expect(turns).to.be.at.least(10);
  });

  it('is not prepared if no template can be rendered with it', async () => {
    const record = `{"price":1.50,"list":[${filled('1,')}1]}`;
    const cpuMs = cpuTimer();
    const composed = await composeEmail(
      deps as unknown as ComposeDeps,
      changeTo(record),
      { queries: [] } as unknown as EmailType,
      {} as NamedType,
    );
    expect(composed).to.have.nested.property('failure.code', 'TEMPLATE_FAILED');
    expect(composed)
      .to.have.nested.property('failure.message')
      .that.includes('data of the template is too large');
    expect(cpuMs()).to.be.below(600);
  });

  it('is not read by lists of /roles_pbac, whose number of values is limited', () => {
    const list = `[{"change":{"new":${RECORDS[0]?.[1]}}}]`;
    const cpuMs = cpuTimer();
    expect(() => limitValues(list))
      .to.throw(AppError)
      .with.property('code', 'DOCUMENT_TOO_COMPLEX');
    expect(cpuMs()).to.be.below(MAX_MS);
    limitValues(`[{"change":{"new":"${filled(',')}"}}]`);
  });

  it('is found member by member, whatever the members are', () => {
    const row = { 'a"b': [1, { c: ':,' }], '': null, '\\': '\\"}', é: { x: [] }, n: -1.5, t: true };
    for (const space of [0, 2, '\t']) {
      const text = JSON.stringify(row, null, space);
      const found = membersOf(text).map(({ name, start, end }) => [
        name,
        JSON.parse(text.slice(start, end)) as unknown,
      ]);
      expect(found).to.deep.equal(Object.entries(row));
    }
    for (const text of ['{}', '[]', '[{"a": 1}]', 'null', '"{:}"', '1'])
      expect(membersOf(text)).to.deep.equal([]);
  });

  it('has marks at numbers of its numeric columns only', () => {
    const columns = new Map(['n', 'list'].map((name) => [name, { kind: 'numeric' as const }]));
    const record =
      '{"n": -1.50, "m": 1.50, "list": [1,"NaN","1 2",null,[2.0]], "deep": {"n": 1}, "text": "n: 1"}';
    const marked =
      '{"n": -1.50E0, "m": 1.50, "list": [1E0,"NaN","1 2",null,[2.0E0]], "deep": {"n": 1}, "text": "n: 1"}';
    expect(markNumbers(record, columns)).to.equal(marked);
    expect(removeMarks(marked)).to.equal(record);
    const exponents = '{"n":1e5,"list":[1E+5,1.5e-7]}';
    expect(markNumbers(exponents, columns)).to.equal(exponents);
  });
});
