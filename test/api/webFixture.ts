import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import { startWeb, type Web } from '../../src/api/server.js';
import type { ReadText } from '../../src/email/carriers/reports/webhook.js';
import { systemClock, type Clock } from '../../src/foundation/clock.js';
import type { Config } from '../../src/config/config.js';
import { ensureInstallation } from '../../src/control/tenants/installation.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { Database } from '../../src/db/pool/database.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { openCarriers } from '../../src/email/carriers/openCarriers.js';
import type { Carriers } from '../../src/email/carriers/sending.js';
import { createControlEngine } from '../../src/control/controlEngine.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import type { Logger } from '../../src/foundation/observability/log.js';
import { KeyRing } from '../../src/config/secrets.js';
import { budgetOf, TEST_SECRET_KEYS, testConfig, testLog } from '../support/testConfig.js';
import { createTestTenant, quickHash } from '../support/createTestTenant.js';
import { atEndOfRun } from '../support/teardown.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

export const PXADMIN_PASSWORD = 'installation root';
export const ROOT_LOGIN = 'root';
export const ROOT_PASSWORD = 'correct horse battery';

/** What signing in responses, as far as tests look at it. */
export interface AuthBody {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly message: string;
  readonly roleid: number;
  readonly tenantid: number;
}

export type Json = Readonly<Record<string, unknown>>;

/** What is at a path such as `data.create_role.roleid`; undefined when there is nothing. */
export function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], value);
}

/** The text or number at a path, as text. */
export function textAt(value: unknown, path: string): string {
  const found = at(value, path);
  if (typeof found === 'string' || typeof found === 'number') return String(found);
  throw new Error(`nothing at ${path} of ${JSON.stringify(value)}`);
}

export interface GraphqlResult {
  readonly data?: Json | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions: Json & { readonly code: string };
  }[];
}

/** The code of a response's first error. */
export function codeOf({ errors }: GraphqlResult): string | undefined {
  return errors?.[0]?.extensions.code;
}

export interface WebFixtureOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What no environment variable says. */
  readonly config?: Partial<Config>;
  readonly clock?: Clock;
  /** A further process on the database of this one, which is stopped after it. */
  readonly beside?: WebFixture;
  readonly log?: Logger;
  /** Another way to the test database. */
  readonly openDatabase?: (url: string) => Promise<Database>;
  readonly checks?: Readonly<Record<string, () => Promise<unknown>>>;
  readonly readSns?: ReadText;
}

const templatePools = new Map<number, TemplatePool>();

/** That of all fixtures: a thread takes half a second of CPU time to start. */
function templatePool(processes: number): TemplatePool {
  let pool = templatePools.get(processes);
  if (!pool) {
    pool = createTemplatePool({ processes, deadlineMs: 5_000 });
    templatePools.set(processes, pool);
    atEndOfRun(pool.close.bind(pool));
  }
  return pool;
}

/** A whole web process on a database of its own, and what tests need to talk to it. */
export class WebFixture {
  private constructor(
    readonly testDatabase: TestDatabase,
    readonly config: Config,
    readonly engine: DataEngine,
    readonly templates: TemplatePool,
    readonly principals: PrincipalSource,
    readonly carriers: Carriers,
    readonly web: Web,
    private readonly ownsDatabase: boolean,
  ) {}

  static async start(options: WebFixtureOptions = {}): Promise<WebFixture> {
    const testDatabase =
      options.beside?.testDatabase ?? (await createTestDatabase({ budget: budgetOf(options.env ?? {}) }));
    const database = (await options.openDatabase?.(testDatabase.url)) ?? testDatabase.database;
    const log = options.log ?? testLog;
    const env = { DATABASE_URL: testDatabase.url, RENDER_PROCESSES: '1', ...options.env };
    const config = { ...testConfig(env), ...options.config };
    const clock = options.clock ?? systemClock;
    await ensureInstallation(database.pool, PXADMIN_PASSWORD, quickHash);
    const principals = new PrincipalSource(database.pool, () => clock.now());
    const engine = createDataEngine({ database, config, log });
    const templates = templatePool(config.renderProcesses);
    const base = { database, config, log, clock, principals, engine };
    const keyRing = KeyRing.parse(TEST_SECRET_KEYS);
    const carriers = openCarriers(config, database);
    const control = createControlEngine({ ...base, keyRing, templates, carriers });
    const checks = options.checks ?? { postgres: () => database.pool.query('select') };
    const web = await startWeb({
      ...base,
      keyRing,
      control,
      templates,
      carriers,
      checks,
      ...(options.readSns ? { readSns: options.readSns } : {}),
    });
    const ownsDatabase = options.beside === undefined;
    return new WebFixture(testDatabase, config, engine, templates, principals, carriers, web, ownsDatabase);
  }

  async stop(): Promise<void> {
    await this.web.stop();
    await this.carriers.close();
    if (this.ownsDatabase) await this.testDatabase.drop();
  }

  get url(): string {
    return `http://127.0.0.1:${this.web.port}`;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }

  /** A tenant with the given tables, whose root signs in as ROOT_LOGIN with ROOT_PASSWORD. */
  async createTenant(name: string, sql = ''): Promise<CreatedTenant> {
    const { database } = this.testDatabase;
    const tenant = await createTestTenant(database.pool, {
      name,
      rootLogin: ROOT_LOGIN,
      rootPassword: ROOT_PASSWORD,
    });
    if (sql !== '') await runTenantSql(database, { tenantid: tenant.tenantid, sql });
    return tenant;
  }

  postJson(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  async signIn(tenantid: number, login = ROOT_LOGIN, password = ROOT_PASSWORD): Promise<AuthBody> {
    const response = await this.postJson('/auth', { tenantid, login, password });
    if (response.status !== 200)
      throw new Error(`sign-in responded with ${response.status}: ${await response.text()}`);
    return (await response.json()) as AuthBody;
  }

  async graphql(
    path: '/query' | '/roles_pbac',
    token: string,
    query: string,
    variables?: unknown,
  ): Promise<GraphqlResult> {
    const response = await this.postJson(path, { query, variables }, { authorization: `Bearer ${token}` });
    return (await response.json()) as GraphqlResult;
  }

  /** A request to `/roles_pbac`. */
  control(token: string, query: string, variables?: unknown): Promise<GraphqlResult> {
    return this.graphql('/roles_pbac', token, query, variables);
  }

  /** A role made by `maker`, and a token for it: without a password, which would take its time. */
  async createMember(
    maker: string,
    login: string,
    capabilities: readonly string[],
    parentid?: number,
  ): Promise<{ roleid: number; token: string }> {
    const made = await this.control(
      maker,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { login, capabilities, parentid } },
    );
    const roleid = Number(textAt(made, 'data.create_role.roleid'));
    const token = await this.control(maker, `{ Utility { role_token(roleid: ${roleid}) } }`);
    return { roleid, token: textAt(token, 'data.Utility.role_token') };
  }
}
