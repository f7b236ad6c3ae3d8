import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { runRowpost, startProcess, type RowpostProcess } from '../../test/support/rowpostProcess.js';

/** A tenant with its tables filled, on a durable PostgreSQL, as an operator would set it up. */
export interface BenchInstallation {
  readonly databaseUrl: string;
  readonly tenantid: number;
  readonly schema: string;
  /** Starts the shipped web process; further environment overrides its settings. */
  startWeb(env?: Readonly<Record<string, string>>): Promise<BenchWeb>;
  /** Starts the shipped relay or worker process. */
  startPart(part: 'relay' | 'worker', env?: Readonly<Record<string, string>>): Promise<RowpostProcess>;
  /** One more tenant, with the same root role. */
  addTenant(tables: string): Promise<BenchTenant>;
  /** Events in the outbox. */
  countEvents(): Promise<number>;
  /** Ends all processes that were started here; PostgreSQL goes on. */
  stopParts(): Promise<void>;
  stop(): Promise<void>;
}

export interface BenchTenant {
  readonly tenantid: number;
  readonly schema: string;
}

export interface BenchWeb {
  readonly baseUrl: string;
  readonly process: RowpostProcess;
}

const ROOT = { login: 'root', password: 'benchmark-root' };

/**
 * @param options.durable false: PostgreSQL never waits for the disk, for what measures no writes
 * @param options.postgres another than one that is started for it, with an empty database
 */
export async function createInstallation(
  tables: string,
  options: {
    readonly durable?: boolean;
    readonly postgres?: { readonly url: string; stop(): Promise<void> };
  } = {},
): Promise<BenchInstallation> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-bench-'));
  const postgres =
    options.postgres ??
    (await startEmbeddedPostgres({
      dataDir: folder,
      throwaway: options.durable === false,
      say: (line) => process.stderr.write(`${line}\n`),
    }));
  const env = { DATABASE_URL: postgres.url, PXADMIN_PASSWORD: 'benchmark-pxadmin' };
  await command(['release'], env);
  let tenants = 0;
  const addTenant = async (tablesOfTenant: string): Promise<BenchTenant> => {
    const name = `bench${++tenants}`;
    const root = ['--root-login', ROOT.login, '--root-password', ROOT.password];
    const created = await command(['tenant', 'create', '--name', name, ...root], env);
    const { tenantid, schema } = JSON.parse(created) as BenchTenant;
    const file = path.join(folder, 'tables.sql');
    await writeFile(file, tablesOfTenant);
    await command(['tenant', 'sql', '--tenant', String(tenantid), '-f', file], env);
    return { tenantid, schema };
  };
  const { tenantid, schema } = await addTenant(tables);
  const started: RowpostProcess[] = [];
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  const stopParts = async (): Promise<void> => {
    await Promise.all(started.map((part) => part.kill('SIGTERM')));
  };
  return {
    databaseUrl: postgres.url,
    tenantid,
    schema,
    async startWeb(overrides = {}) {
      const web = await startProcess(['web'], { ...env, ...overrides });
      started.push(web);
      const port = /"port":(\d+)/.exec(web.log())?.[1];
      if (port === undefined) throw new Error(`the web process names no port:\n${web.log()}`);
      return { baseUrl: `http://127.0.0.1:${port}`, process: web };
    },
    async startPart(part, overrides = {}) {
      const process = await startProcess([part], { ...env, ...overrides });
      started.push(process);
      return process;
    },
    addTenant,
    stopParts,
    async countEvents() {
      const { rows } = await pool.query<{ count: string }>('select count(*) from rowpost.outbox');
      return Number(rows[0]?.count);
    },
    async stop() {
      await pool.end();
      await stopParts();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function command(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await runRowpost(args, env);
  if (code !== 0) throw new Error(`rowpost ${args.join(' ')} exited ${String(code)}:\n${stderr}`);
  return stdout;
}

export async function post<T>(url: string, body: unknown, token?: string): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const payload = (await response.json()) as T & { errors?: unknown; error?: unknown };
  if (payload.errors ?? payload.error) throw new Error(`${url}: ${JSON.stringify(payload)}`);
  return payload;
}

/** Signs in as the tenant's root role. @returns the access token */
export async function signInAsRoot(baseUrl: string, tenantid: number): Promise<string> {
  const { access_token } = await post<{ access_token: string }>(`${baseUrl}/auth`, { ...ROOT, tenantid });
  return access_token;
}

/** A role that holds `capabilities` on `targets` by one policy rule, and nothing else. @returns its access token */
export async function signInUnderPolicy(
  baseUrl: string,
  tenantid: number,
  rule: {
    readonly capabilities: readonly string[];
    readonly targets: readonly string[];
    readonly filter?: string;
  },
): Promise<string> {
  const root = await signInAsRoot(baseUrl, tenantid);
  const credentials = { login: 'clerk', password: 'benchmark-clerk' };
  const { data } = await post<{ data: { create_role: { roleid: string } } }>(
    `${baseUrl}/roles_pbac`,
    {
      query: 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      variables: { input: { ...credentials, name: 'clerk', capabilities: ['login', ...rule.capabilities] } },
    },
    root,
  );
  await post(
    `${baseUrl}/roles_pbac`,
    {
      query: 'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      variables: { input: { name: 'clerks', roles: [Number(data.create_role.roleid)], ...rule } },
    },
    root,
  );
  const { access_token } = await post<{ access_token: string }>(`${baseUrl}/auth`, {
    ...credentials,
    tenantid,
  });
  return access_token;
}
