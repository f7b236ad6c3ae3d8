import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { startCells, type CellsRig } from '../../../fault/moves/cells.js';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { makeApiKey } from '../../../src/foundation/apiKeyText.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { waitFor } from '../../support/waitFor.js';

const PAGE = readFileSync(new URL('../../../docs/how-to/cells.md', import.meta.url), 'utf8');

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

/** Debian's packages `haproxy` and `postgresql-client`. */
if (has('haproxy') && has('pg_dump')) {
  describe('HAProxy in front of two cells, as deploy/proxy/cells.cfg configures it', () => {
    let rig: CellsRig;
    let recipes: Recipes;
    let folder: string;
    let front: string;
    let proxy: ChildProcess;

    const startProxy = async (): Promise<void> => {
      const { code, output } = await recipes.run(['map'], rig.cells.cell1.env);
      expect(code, output).to.equal(0);
      proxy = spawn('haproxy', ['-db', '-f', path.join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
      await waitFor('the proxy', async () => (await ask('/signin', {})).status === 200);
    };
    const stopProxy = async (): Promise<void> => {
      const exited = once(proxy, 'exit');
      proxy.kill('SIGTERM');
      await exited;
    };

    before(async () => {
      [rig, recipes] = await Promise.all([startCells(), openRecipes('docs/how-to/cells.md')]);
      ({ folder } = recipes);
      const port = await findFreePort();
      front = `http://127.0.0.1:${port}`;
      const config = await readFile(new URL('../../../deploy/proxy/cells.cfg', import.meta.url), 'utf8');
      await writeFile(
        path.join(folder, 'haproxy.cfg'),
        config
          .replaceAll('/etc/haproxy/cells.map', path.join(folder, 'cells.map'))
          .replace('maxconn 10000', 'maxconn 100')
          .replace('bind :8080', `bind 127.0.0.1:${port}`)
          .replace('cell1-web:8080', new URL(rig.cells.cell1.url).host)
          .replace('cell2-web:8080', new URL(rig.cells.cell2.url).host),
      );
      await startProxy();
    });
    after(async () => {
      await stopProxy();
      await rig.stop();
      await rm(folder, { recursive: true });
    });

    const ask = async (
      where: string,
      init: RequestInit,
    ): Promise<{ readonly status: number; readonly code: string | undefined; readonly text: string }> => {
      const response = await fetch(`${front}${where}`, { redirect: 'manual', ...init }).catch(
        () => undefined,
      );
      const text = (await response?.text()) ?? '';
      return { status: response?.status ?? 0, code: /"code":"(\w+)"/.exec(text)?.[1], text };
    };
    const json = (body: object, headers = {}): RequestInit => ({
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const query = (token: string): RequestInit =>
      json({ query: '{ orders { order_id } }' }, { authorization: `Bearer ${token}` });

    /** Whatever names the tenant leads to its cell: another one would respond TENANT_MOVED. */
    const expectServed = async (): Promise<void> => {
      for (const { tenantid, token } of rig.shops) {
        expect((await ask('/query', query(token))).text).to.equal('{"data":{"orders":[]}}');
        const login = { tenantid, login: 'root', password: 'root-password' };
        expect((await ask('/auth', json(login))).status).to.equal(200);
        const form = new URLSearchParams({ ...login, tenantid: String(tenantid) });
        expect((await ask('/auth', { method: 'POST', body: form })).status).to.equal(200);
        const codes = [
          await ask('/query', query(makeApiKey(tenantid, 1))),
          await ask('/anonauth', json({ tenantid })),
          await ask('/oidc', json({ tenantid, roleid: 1, confid: 1 })),
          await ask(`/events/sendgrid/${tenantid}`, json({})),
        ].map(({ code }) => code);
        expect(codes).to.deep.equal([
          'TOKEN_REVOKED',
          'ANONYMOUS_LOGINS_DISABLED',
          'OIDC_CONFID_NOT_FOUND',
          'EVENT_SIGNATURE_MISSING',
        ]);
      }
    };

    it('sends each tenant to its cell, by what the request names it with', expectServed);

    it('sends a tenant that has moved to its new cell, where its tokens are valid', async () => {
      const [{ tenantid, token } = { tenantid: 0, token: '' }] = rig.shops;
      const moved = await recipes.run(['move'], { ...rig.moveEnv('cell1'), TENANT: String(tenantid) });
      expect(moved.code, moved.output).to.equal(0);
      const fields = (lines: string) =>
        lines
          .trim()
          .split('\n')
          .map((line) => Object.keys(JSON.parse(line) as object));
      expect(fields(moved.stdout)).to.deep.equal(
        fields(/^```json\n(\{"tenantid":7[^`]*)```$/m.exec(PAGE)![1]!),
      );
      // The map is as it was.
      expect(await ask('/query', query(token))).to.include({ status: 421, code: 'TENANT_MOVED' });
      const direct = await fetch(`${rig.cells.cell1.url}/query`, query(token));
      expect([direct.status, direct.headers.get('x-rowpost-cell')]).to.deep.equal([421, rig.cells.cell2.url]);
      const login = { tenantid, login: 'root', password: 'wrong' };
      for (const [where, body] of [
        ['/auth', login],
        ['/anonauth', login],
        ['/oidc', { ...login, roleid: 1, confid: 1 }],
        [`/events/mailgun/${tenantid}`, {}],
      ] as const) {
        expect((await fetch(`${rig.cells.cell1.url}${where}`, json(body))).status, where).to.equal(421);
      }
      await stopProxy();
      await startProxy();
      await expectServed();
    });
  });
}
