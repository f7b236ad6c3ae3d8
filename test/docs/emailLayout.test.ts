import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SHOP_SQL } from '../../src/embedded/demo/shop.js';
import { at, WebFixture } from '../api/webFixture.js';

const PAGE = readFileSync(new URL('../../docs/tutorials/complete-email.md', import.meta.url), 'utf8');
const [create, preview, order] = [...PAGE.matchAll(/^```graphql \w+\n(.*?)^```$/gms)].map(
  ([, text]) => text!,
);
const ROWS = `insert into customers (name, email, city) values ('Ada Lovelace', 'ada@example.com', 'London'),
    ('Émilie du Châtelet', 'emilie@example.com', 'Paris'), ('Johannes Kepler', 'johannes@example.com', 'Linz');
  insert into orders (order_number, customer_id) values ('R-1001', 1);
  insert into order_items (order_number, product, quantity, price) values ('R-1001', 'Ink', 3, 1200.5);`;

describe('docs/tutorials/complete-email.md', () => {
  it('builds an email with a layout in two languages', async () => {
    const fixture = await WebFixture.start();
    try {
      const { tenantid } = await fixture.createTenant('shop', SHOP_SQL + ROWS);
      const { access_token: token } = await fixture.signIn(tenantid);
      const control = async (query: string): Promise<unknown> => {
        const response = await fixture.control(token, query);
        expect(response.errors).to.equal(undefined);
        return response;
      };
      await control('mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
      await control(
        'mutation { Utility { set_file_table(table_name: "orders", column_name: "invoice") { table_name } } }',
      );
      await control(create!);
      const email = at(await control(preview!), 'data.Utility.preview_email') as Record<string, string>;
      expect(email).to.deep.include({
        subject: 'Your invoice for R-1001',
        recipients: ['Ada Lovelace <ada@example.com>'],
        attachments: [],
        warnings: [],
        error: null,
      });
      expect(email['text']).to.match(/^Dear Ada Lovelace,\n3 × Ink\nUnsubscribe: http/);
      expect(email['html'])
        .to.include('<html lang="en">')
        .and.include('<td>3 × Ink</td><td align="right">€3,601.50</td>')
        .and.match(/<body [^>]*><div style="display:none[^>]*>€3,601\.50, as ordered/);

      const created = await fixture.graphql('/query', token, order!);
      expect(created).to.deep.equal({
        data: { create_orders: { customers: { name: 'Johannes Kepler', city: 'Linz' } } },
      });
      const inGerman = preview!.replace('R-1001', 'R-1002');
      expect(at(await control(inGerman), 'data.Utility.preview_email.html'))
        .to.include('<html lang="de">')
        .and.match(/>0,00\s€, as ordered/);
      await control(`mutation { create_email_type(input: { email_type: "order_invoice_de", subject: "Ihre Rechnung",
        sender: "shop@example.com", recipients: ["johannes@example.com"], template: "<p>Guten Tag</p>" }) { email_type } }`);
      expect(at(await control(inGerman), 'data.Utility.preview_email.subject')).to.equal('Ihre Rechnung');
      expect(at(await control(preview!), 'data.Utility.preview_email.subject')).to.equal(
        'Your invoice for R-1001',
      );
    } finally {
      await fixture.stop();
    }
  });
});
