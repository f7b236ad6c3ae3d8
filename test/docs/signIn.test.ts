import { readFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { WebFixture } from '../api/webFixture.js';

describe('docs/reference/query.md, "Signing in"', () => {
  const page = readFileSync(new URL('../../docs/reference/query.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Signing in$(.*?)^## /ms.exec(page) ?? [];
  let fixture: WebFixture;
  let body: Readonly<Record<string, unknown>>;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table orders (id int primary key)');
    body = { ...(await fixture.signIn(tenantid)) };
  });
  after(() => fixture.stop());

  it('is shown by a command that returns a token', async () => {
    const [, command = ''] = /^```sh\n(.*?)^```$/ms.exec(section)!;
    const run = promisify(execFile);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], {
      env: { ...process.env, BASE_URL: fixture.url },
    });
    expect(JSON.parse(stdout)).to.have.keys(Object.keys(body));
  });

  it('is shown with an Idempotency-Key by a command that changes something once', async () => {
    const { tenantid } = await fixture.createTenant('orders', /^```sql\n(.*?)^```$/ms.exec(page)![1]);
    const { access_token: TOKEN } = await fixture.signIn(tenantid);
    const [, command = '', printed = ''] =
      /^```sh\n([^`]*Idempotency-Key.*?)^```\n\n```text\n(.*?)^```$/ms.exec(page)!;
    const run = promisify(execFile);
    const env = { ...process.env, BASE_URL: fixture.url, TOKEN };
    const send = async (): Promise<string> =>
      (await run('bash', ['-euo', 'pipefail', '-c', command], { env })).stdout;
    expect((await send()).trim()).to.equal(printed.trim());
    expect((await send()).trim()).to.equal(printed.trim());
  });

  it('has every field of the response', () => {
    const rows = section.match(/^\| `.*$/gm)!;
    const fields = rows.flatMap((row) =>
      [...row.split(' | ')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(fields).to.have.members(Object.keys(body));
    const routes = rows.find((row) => row.includes('`routes`'))!;
    for (const name of Object.keys(body['routes'] as object)) expect(routes).to.include(`\`${name}\``);
  });

  it('has every claim of a token', () => {
    const [, claims = ''] = /Their claims are (.*?), which is an object/s.exec(section) ?? [];
    const names = [...claims.replace(/\(.*?\)/gs, '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const token = decodeJwt(String(body['access_token']));
    expect(names).to.have.members(Object.keys(token));
    expect(token.sub).to.have.keys('roleid', 'tenantid');
  });
});
