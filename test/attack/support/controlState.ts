import type pg from 'pg';
import { literal } from '../../../src/db/sql/sql.js';

/** Tables of control objects, referenced ones first, with their keys. */
const TABLES = {
  oidc_providers: ['providerid'],
  role_class: ['classid'],
  role: ['roleid'],
  policy_rule: ['ruleid'],
  oidc_config: ['confid'],
  role_oidc: ['roleid', 'confid'],
  email_layouts: ['tenantid', 'name'],
  email_types: ['tenantid', 'email_type'],
  email_type_version: ['tenantid', 'email_type', 'version'],
  email_rule: ['ruleid'],
  email_suppression: ['tenantid', 'address'],
} as const;
/** Numbers of new rows are from here: they differ from run to run. */
const NEW = 1_000_000;
const PASSING = /time$|^tokens_valid_from$|^restored$|^client_secret/;

type Row = Readonly<Record<string, unknown>>;

/** What a database holds of control objects: to be compared, and to be put back. */
export class ControlState {
  readonly #saved = new Map<string, readonly Row[]>();

  constructor(private readonly pool: pg.Pool) {}

  async save(): Promise<void> {
    for (const [table, key] of Object.entries(TABLES)) {
      const column = key.length === 1 ? key[0] : undefined;
      if (column)
        await this.pool.query(`select setval(pg_get_serial_sequence($1, $2), ${NEW})`, [
          `rowpost.${table}`,
          column,
        ]);
      this.#saved.set(table, await this.#rows(table, key));
    }
  }

  /** Without what differs from run to run. */
  async read(): Promise<unknown> {
    const state: Record<string, unknown> = {};
    for (const [table, key] of Object.entries(TABLES)) state[table] = await this.#rows(table, key);
    return withoutPassing(state);
  }

  async putBack(): Promise<void> {
    const puts = Object.entries(TABLES).map(([table, key]) => {
      const rows = this.#saved.get(table) ?? [];
      const columns = Object.keys(rows[0] ?? {}).map((name) => `"${name}"`);
      if (columns.length === 0) return '';
      return `insert into rowpost.${table} as t select * from ${saved(table, rows)}
        on conflict (${key.join(', ')}) do update set (${columns.join(', ')}) = row (${columns.map((name) => `excluded.${name}`).join(', ')})
        where t is distinct from excluded;`;
    });
    const deletions = Object.entries(TABLES).map(
      ([table, key]) => `delete from rowpost.${table} where (${key.join(', ')}) not in
        (select ${key.join(', ')} from ${saved(table, this.#saved.get(table) ?? [])});`,
    );
    // The trigger would count versions up.
    await this.pool.query(`begin; alter table rowpost.email_types disable trigger user;
      ${puts.join('\n')} ${deletions.reverse().join('\n')} alter table rowpost.email_types enable trigger user; commit`);
  }

  async #rows(table: string, key: readonly string[]): Promise<readonly Row[]> {
    const { rows } = await this.pool.query<{ row: Row }>(
      `select to_jsonb(t) as row from rowpost.${table} t order by ${key.join(', ')}`,
    );
    return rows.map(({ row }) => row);
  }
}

/** Times, and numbers of new rows. */
export function withoutPassing(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => {
      if (PASSING.test(name)) return undefined;
      return Number(inner) > NEW ? 'new' : inner;
    }),
  ) as unknown;
}

function saved(table: string, rows: readonly Row[]): string {
  return `jsonb_populate_recordset(null::rowpost.${table}, ${literal(JSON.stringify(rows))})`;
}
