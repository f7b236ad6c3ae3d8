import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { deleteCustomer, placeOrder, welcomeLeaver } from '../../src/embedded/demo/changes.js';
import { findFreePort } from '../../src/embedded/freePort.js';
import { setUp } from '../../src/embedded/demo/setUp.js';
import { createNarrator } from '../../src/embedded/demo/narrator.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { PXADMIN_PASSWORD, textAt, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { countStates, startPipeline } from '../delivery/pipelineSetup.js';
import { waitFor } from '../support/waitFor.js';

/** A block of a page that is run: a request in GraphQL, or a program. What follows it is what the page says that it returns. */
export interface Step {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  readonly variables: unknown;
  readonly data: unknown;
  readonly errors: readonly unknown[] | undefined;
  /** What a program prints. */
  readonly output: string | undefined;
}

const RUN = ['graphql', 'sh', 'python', 'js', 'sql'];

/** @param page below docs/ */
export function readSteps(page: string): readonly Step[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```(\S+)(?: (\w+))?\n(.*?)^```$/gms)].map((match) => ({
    kind: match[2] ? `${match[1]} ${match[2]}` : match[1]!,
    text: match[3]!,
    line: text.slice(0, match.index).split('\n').length,
  }));
  return blocks.flatMap((block, index) => {
    if (!RUN.includes(block.kind)) return [];
    const next = blocks.slice(index + 1);
    const end = next.findIndex(({ kind }) => !/^(json|text)/.test(kind));
    const own = new Map(next.slice(0, end < 0 ? next.length : end).map((item) => [item.kind, item.text]));
    const parsed = (kind: string): unknown => {
      const found = own.get(kind);
      return found === undefined ? undefined : JSON.parse(found);
    };
    const step = {
      ...block,
      language: block.kind,
      variables: parsed('json variables'),
      data: parsed('json'),
      errors: parsed('json errors') as Step['errors'],
      output: own.get('text'),
    };
    return [step];
  });
}

/** The demo's shop: the same rows, roles, emails and rules under the same numbers. Relay and worker don't run while it is open. */
export class DemoShop {
  /** By login. */
  readonly #tokens = new Map<string, string>();
  /** Ids in responses, by the word in capitals that stands for them in later requests: DELIVERYID. */
  readonly #ids = new Map<string, string>();

  private constructor(
    private readonly fixture: WebFixture,
    private readonly password: string,
    /** Where programs run. */
    private readonly folder: string,
  ) {}

  static async open(): Promise<DemoShop> {
    const port = await findFreePort();
    const address = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` };
    const fixture = await WebFixture.start({ env: address });
    const service = {
      baseUrl: fixture.url,
      pxadminPassword: PXADMIN_PASSWORD,
      runTenantSql: async (tenantid: number, sql: string) => {
        await runTenantSql(fixture.testDatabase.database, { tenantid, sql });
      },
    };
    const narrator = createNarrator(() => undefined, false);
    const { password, root } = await setUp(service, narrator);
    await deleteCustomer(root, await welcomeLeaver(root), narrator);
    await placeOrder(root, 'R-1001', narrator);
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-guide-'));
    return new DemoShop(fixture, password, folder);
  }

  /** Runs SQL as `rowpost tenant sql` does. */
  async runSql(sql: string): Promise<void> {
    await runTenantSql(this.fixture.testDatabase.database, { tenantid: 1, sql });
    await this.fixture.control(await this.tokenOf('shop'), '{ Utility { introspect } }');
  }

  /** Sends the emails of the changes so far. */
  async sendEmails(count: number): Promise<void> {
    const { engine, templates, config, testDatabase } = this.fixture;
    const pipeline = await startPipeline(testDatabase.database, config, { engine, templates });
    try {
      await waitFor('the emails', async () => {
        const { sent } = await countStates(testDatabase.database, 1);
        return sent === count;
      });
    } finally {
      await pipeline.stop();
    }
  }

  async close(): Promise<void> {
    await this.fixture.stop();
    await rm(this.folder, { recursive: true });
  }

  /** Sends a request as the role that its first line names, to the endpoint that it names: `# shop, at /query`. */
  async send({ text, variables }: Step): Promise<GraphqlResult> {
    const [, login, path] = /^# (\w+), at (\/query|\/roles_pbac)\n/.exec(text) ?? [];
    if (!login || !path) throw new Error(`whose request is this, and where does it go?\n${text}`);
    const request = text.replace(/\b[A-Z]{2,}ID\b/g, (word) => this.#ids.get(word) ?? word);
    const result = await this.fixture.graphql(
      path as '/query',
      await this.tokenOf(login),
      request,
      variables,
    );
    this.noteIds(result.data);
    return result;
  }

  private noteIds(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name.endsWith('id') && (typeof inner === 'string' || typeof inner === 'number'))
        this.#ids.set(name.toUpperCase(), String(inner));
      this.noteIds(inner);
    }
  }

  /** Runs a program as somebody would who has followed the page. @returns what it prints */
  async run({ language, text }: Step): Promise<string> {
    const [program, ...args] = {
      sh: ['bash', '--norc', '-euo', 'pipefail', '-c', text],
      python: ['python3', '-c', text],
      js: [process.execPath, '--input-type=module', '--eval', text],
    }[language]!;
    const env = {
      PATH: process.env['PATH'] ?? '',
      BASE_URL: this.fixture.url,
      PASSWORD: this.password,
      TOKEN: await this.tokenOf('shop'),
    };
    return new Promise((resolve, reject) => {
      execFile(program!, args, { env, cwd: this.folder }, (error, stdout, stderr) => {
        if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`));
        else resolve(stdout);
      });
    });
  }

  private async tokenOf(login: string): Promise<string> {
    const token = this.#tokens.get(login) ?? (await this.signIn(login));
    this.#tokens.set(login, token);
    return token;
  }

  private async signIn(login: string): Promise<string> {
    if (login === 'pxadmin') return (await this.fixture.signIn(0, login, PXADMIN_PASSWORD)).access_token;
    if (login === 'shop') return (await this.fixture.signIn(1, login, this.password)).access_token;
    if (login === 'anonymous') {
      const response = await this.fixture.postJson('/anonauth', { tenantid: 1 });
      return textAt(await response.json(), 'access_token');
    }
    const root = await this.tokenOf('shop');
    const found = await this.fixture.control(
      root,
      `{ role(filter: "login = '${login}' and deleted = false") { roleid } }`,
    );
    const roleid = textAt(found, 'data.role.0.roleid');
    const token = await this.fixture.control(root, `{ Utility { role_token(roleid: ${roleid}) } }`);
    return textAt(token, 'data.Utility.role_token');
  }
}
