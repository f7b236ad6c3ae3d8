import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { emailTypes } from '../../src/control/objects/emailTypes.js';
import type { Column } from '../../src/control/derive/declaration.js';
import { ConsoleShop } from './consoleShop.js';

const CREATE = 'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }';
const UPDATE =
  'mutation ($input: email_typesInput) { update_email_type(email_type: "columns", input: $input) { version } }';

/** Columns that clients may set. */
const COLUMNS = Object.entries<Column>(emailTypes.columns).filter(
  ([, { input, inputOnly, internal }]) => input !== undefined && !inputOnly && !internal,
);
/** For columns that take no plain text. */
const VALUES: Readonly<Record<string, unknown>> = {
  recipients: ['ada@example.com'],
  sender: 'changed@example.com',
  reply_to: 'reply@example.com',
  attachments: ['file'],
  categories: ['changed categories'],
  headers: { 'X-Changed': 'changed headers' },
  queries: [{ query: 'query ($filter: String) { orders(filter: $filter) { order_id } }', outvar: 'changed' }],
  options: { cc: ['cc@example.com'], bcc: ['bcc@example.com'] },
};
const valueOf = (name: string, { oneOf }: Column): unknown => VALUES[name] ?? oneOf?.[1] ?? `changed ${name}`;

describe('a column of email types', () => {
  let shop: ConsoleShop;
  let form: string;
  let versions: string;

  before(async () => {
    shop = await ConsoleShop.open();
    const first = {
      email_type: 'columns',
      template: 'a',
      subject: 'a',
      sender: 'a@b.org',
      recipients: ['c@d.org'],
    };
    const set = async (query: string, input: object): Promise<void> => {
      const { errors } = await shop.fixture.control(shop.root, query, { input });
      expect(errors).to.equal(undefined);
    };
    await set(CREATE, first);
    const values = COLUMNS.map(([name, column]) => [name, valueOf(name, column)]);
    await set(UPDATE, { ...(Object.fromEntries(values) as object), email_type: 'columns' });
    const browser = await shop.signedIn();
    form = await browser.page('/console/emails/edit?type=columns');
    versions = await browser.page('/console/emails/versions?type=columns');
  });
  after(() => shop.close());

  const page = readFileSync(new URL('../../docs/reference/roles_pbac.md', import.meta.url), 'utf8');
  for (const [name, column] of COLUMNS) {
    if (name === 'email_type') continue;
    const controls = Object.entries(column.memberControls ?? { [name]: column.control });
    it(`is in the documentation, the editor and the history: ${name}`, () => {
      expect(page).to.match(new RegExp(`^\\| \`${name}\` \\|`, 'm'));
      for (const [control, given] of controls) {
        expect(given, `${name} has no control`).to.not.equal(undefined);
        if (given?.kind !== 'queries') expect(form).to.include(` name="${control}"`);
        expect(versions).to.include(`>${given?.label}<`);
      }
      const texts = [JSON.stringify(valueOf(name, column))].flatMap(
        (text) => text.match(/[\w@.-]{3,}/g) ?? [],
      );
      for (const text of texts) {
        expect(form).to.include(text);
        expect(versions).to.include(text);
      }
    });
  }
});
