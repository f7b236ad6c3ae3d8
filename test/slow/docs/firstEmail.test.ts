import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { readSteps } from '../../docs/guide.js';
import { spawnRowpost } from '../../support/rowpostProcess.js';
import { waitFor } from '../../support/waitFor.js';

/** Subjects of emails that the page says arrive, and of those that must not. */
const ARRIVES = 'Welcome, Mary Shelley';
const NEVER = 'Welcome, Horace de Saussure';

describe('docs/tutorials/first-email.md, in the demo', () => {
  it('leads to one email, and says why another was not sent', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-first-email-'));
    await chmod(folder, 0o755);
    const demo = spawnRowpost(['demo'], {
      ROWPOST_DATA_DIR: path.join(folder, '.rowpost'),
      LOG_LEVEL: 'warn',
    });
    let printed = '';
    demo.stdout!.setEncoding('utf8').on('data', (part: string) => (printed += part));
    const [, address, token] = await waitFor('the token', () =>
      /(http\S+)\/console\n[^]*TOKEN=(\S+)\n/.exec(printed),
    );
    const post = async (endpoint: string, query: string): Promise<unknown> => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token!}` };
      const body = JSON.stringify({ query });
      const response = await fetch(address! + endpoint, { method: 'POST', headers, body });
      return response.json();
    };
    const readMailbox = async (): Promise<string> => (await fetch(`${address!}/mailbox`)).text();
    for (const { text, language } of readSteps('tutorials/first-email.md')) {
      // The reader looks at the email before the rule changes.
      if (text.includes('update_email_rule'))
        await waitFor(ARRIVES, async () => (await readMailbox()).includes(ARRIVES));
      if (language === 'graphql') await post(/at (\/\w+)\n/.exec(text)![1]!, text);
    }
    const why = `{ customers(filter: "name = 'Horace de Saussure'") { customer_id } }`;
    const { data } = (await post('/query', why)) as { data: { customers: { customer_id: string }[] } };
    const key = data.customers[0]!.customer_id;
    const explain = `{ Utility { explain_event(target: "customers", key: ${key}) { events { progress rules { name reason saw { name value } } } } } }`;
    const reasons = await waitFor('the rules', async () => {
      const response = JSON.stringify(await post('/roles_pbac', explain));
      return response.includes('"evaluated"') ? response : undefined;
    });
    expect(reasons).to.include('"name":"welcome customers","reason":"condition_false"').and.include('Geneva');
    expect(await readMailbox()).to.not.include(NEVER);
    const exited = once(demo, 'exit');
    demo.kill('SIGTERM');
    expect(await exited).to.deep.equal([0, null]);
    await rm(folder, { recursive: true, force: true });
  });
});
