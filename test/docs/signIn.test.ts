import { readFileSync } from 'node:fs';
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
