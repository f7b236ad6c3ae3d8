import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture } from '../api/webFixture.js';

describe('email_delivery.recipients: searched by address', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    const lists = [
      `array['Ada Lovelace <Ada@example.com>', 'bob@example.com']`,
      `array['"Hopper, Grace" <grace@example.org>']`,
      `array['cleo@example.com']`,
      'null',
    ];
    for (const [index, list] of lists.entries()) {
      await fixture.testDatabase.database.pool.query(
        `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state,
           recipients, subject, tracked, createtime)
         values (${tenant.tenantid}, ${index}, 1, 't', 'insert', 'note', '{}', 'at_least_once', 'sent', ${list}, '${index}', true, now())`,
      );
    }
  });
  after(() => fixture.stop());

  const cases: [filter: string, subjects: readonly string[]][] = [
    [`'Ada@example.com' in recipients`, ['0']],
    [`'ada@example.com' in recipients`, ['0']],
    [`'Ada Lovelace <Ada@example.com>' in recipients`, ['0']],
    [`'bob@example.com' in recipients`, ['0']],
    [`'grace@example.org' in recipients`, ['1']],
    [`'example.org' in recipients`, []],
    [`'ada@example.com' not in recipients`, ['1', '2']],
    [`recipients like '%@example.com'`, ['0', '2']],
    [`recipients ilike '%HOPPER%'`, ['1']],
    [`recipients like 'ada@%'`, ['0']],
    [`recipients not like '%@example.com'`, ['1']],
    [`recipients is null`, ['3']],
    [`recipients like '\\\\%'`, []],
  ];
  for (const [filter, subjects] of cases) {
    it(filter, async () => {
      const { data, errors } = await fixture.control(
        root,
        'query ($filter: String) { email_delivery(filter: $filter, ordering: "subject") { subject recipients } }',
        { filter },
      );
      expect(errors).to.equal(undefined);
      const found = at(data, 'email_delivery') as { subject: string }[];
      expect(found.map(({ subject }) => subject)).to.deep.equal(subjects);
    });
  }

  it('are shown as they were sent to', async () => {
    const { data } = await fixture.control(
      root,
      `{ email_delivery(filter: "'ada@example.com' in recipients") { recipients } }`,
    );
    expect(data).to.deep.equal({
      email_delivery: [{ recipients: ['Ada Lovelace <Ada@example.com>', 'bob@example.com'] }],
    });
  });
});
