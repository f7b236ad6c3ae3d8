import type { StatementRunner } from '../sql/statementRunner.js';
import { statement } from '../sql/sql.js';

/** Processes of one kind and version on one computer. */
export interface Process {
  readonly name: string;
  readonly version: string | null;
  readonly address: string | null;
  readonly since: string;
  readonly connections: number;
}

/** Which processes are connected to PostgreSQL. Those behind a pooler have its address. */
export async function readProcesses(db: StatementRunner): Promise<readonly Process[]> {
  return (await db.query<Process>(PROCESSES)).rows;
}

/** How processes name themselves to PostgreSQL, which keeps 63 characters. */
export function applicationName(process: string, version: string): string {
  return `rowpost ${process} ${version}`;
}

const PROCESSES = statement`
  select split_part(application_name, ' ', 2) as name, nullif(split_part(application_name, ' ', 3), '') as version,
    host(client_addr) as address, to_json(min(backend_start))#>>'{}' as since, count(*)::int as connections
  from pg_stat_activity
  where datname = current_database() and usename = current_user and starts_with(application_name, 'rowpost ')
  group by 1, 2, 3 order by 1, 2, 3`;
