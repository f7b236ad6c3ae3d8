import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { at, textAt } from '../webFixture.js';
import { HttpBrowser } from './support/httpBrowser.js';
import { OidcFixture } from './support/oidcFixture.js';

const PAGE = readFileSync(new URL('../../../docs/how-to/single-sign-on.md', import.meta.url), 'utf8');
const PROBLEMS = readFileSync(new URL('../../../docs/how-to/sign-in-problems.md', import.meta.url), 'utf8');

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map((match) => match[1]!);
}

describe('docs/how-to/single-sign-on.md', () => {
  let fixture: OidcFixture;
  let provider: ChildProcess | undefined;
  let providerPort: number;
  const answered: Record<string, string> = {};

  before(async () => {
    fixture = await OidcFixture.start();
    providerPort = await findFreePort();
    answered['TENANTID'] = String(fixture.tenant.tenantid);
  });
  after(async () => {
    if (provider) {
      const exited = once(provider, 'exit');
      provider.kill();
      await exited;
    }
    await fixture.stop();
  });

  /** With this run's ports, and with what earlier steps answered. */
  function asTyped(text: string): string {
    return text
      .replaceAll('localhost:8080', new URL(fixture.baseUrl).host)
      .replaceAll('9000', String(providerPort))
      .replace(/\b(PROVIDERID|CONFID|ROLEID|TENANTID)\b/g, (word) => answered[word] ?? word);
  }

  it('leads a newcomer from a provider to a token', async () => {
    const [startProvider, startSignIn] = blocks('sh');
    provider = spawn('bash', ['-c', `exec env ${asTyped(startProvider!)}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(String((await once(provider.stdout!, 'data'))[0])).to.include(`localhost:${providerPort}`);

    const steps = blocks('graphql');
    const tokens: Record<string, string> = { pxadmin: fixture.pxadmin, root: fixture.root };
    const run = async (step: string): Promise<unknown> => {
      const who = /^# (\w+)/.exec(step)![1]!;
      const { data, errors } = await fixture.web.control(tokens[who]!, asTyped(step));
      expect(errors, step).to.equal(undefined);
      return data;
    };
    answered['PROVIDERID'] = textAt(await run(steps[0]!), 'create_oidc_providers.providerid');
    answered['CONFID'] = textAt(await run(steps[1]!), 'create_oidc_config.confid');
    answered['ROLEID'] = textAt(await run(steps[2]!), 'create_role.roleid');
    await run(steps[3]!);

    const { stdout } = await promisify(execFile)('bash', ['-c', asTyped(startSignIn!)]);
    expect(textAt(JSON.parse(stdout), 'authorization_url')).to.include(`localhost:${providerPort}/auth?`);

    const browser = new HttpBrowser();
    const page = asTyped(/`(http\S+\/signin\?tenantid=TENANTID)`/.exec(PAGE)![1]!);
    const form = await (await browser.send(page)).text();
    expect(form).to.match(/Continue with\s+local/);
    const begun = await browser.send(`${fixture.baseUrl}/signin/oidc`, {
      method: 'POST',
      body: new URLSearchParams({
        tenantid: answered['TENANTID']!,
        login: 'ada',
        confid: answered['CONFID'],
      }),
    });
    const callback = await fixture.logIn(browser, begun.headers.get('location')!, 'ada-lovelace');
    const body = await fixture.readAuthBody(await browser.send(callback));
    tokens['ada'] = body.access_token;
    expect(at(await run(steps[4]!), 'role')).to.deep.equal([{ login: 'ada' }]);
  });

  it('has a cause for every code of a sign-in', async () => {
    const { ERROR_CODES } = await import('../../../src/foundation/errors.js');
    const codes = Object.keys(ERROR_CODES).filter((code) =>
      /^OIDC_(?!PROVIDER_(NOT_FOUND|IN_USE))/.test(code),
    );
    const causes = PROBLEMS.slice(PROBLEMS.indexOf('## Troubleshooting'));
    expect(codes.filter((code) => !causes.includes(`\`${code}\``))).to.deep.equal([]);
  });
});
