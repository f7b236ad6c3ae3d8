import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { DumpEnd } from './clientProgram.js';
import type { MovingTenant } from './handOver.js';
import { dumpTables, restoreTables, serviceTriggers } from './tablesDump.js';

/** A tenant's structure, without rows. Each part is restored logged in as the tenant, into the schema that it owns. */
export interface SchemaDump {
  /** Types, functions, tables. */
  restoreTables(target: DumpEnd): Promise<void>;
  /** Keys and indexes. */
  restoreIndexes(target: DumpEnd): Promise<void>;
  /** Triggers, rules and policies, which must not see the rows arrive. */
  restoreTriggers(target: DumpEnd): Promise<void>;
  delete(): Promise<void>;
}

/** Throws UsageError when pg_dump is missing, older than the server, or fails. */
export async function dumpSchema(source: DumpEnd, tenant: MovingTenant): Promise<SchemaDump> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-move-'));
  const file = path.join(folder, 'schema.dump');
  const remove = (): Promise<void> => rm(folder, { recursive: true });
  try {
    await dumpTables(source, tenant, file, ['--schema-only']);
    const except = await serviceTriggers(source.database.pool, tenant.schema);
    const restore = (
      target: DumpEnd,
      section: 'pre-data' | 'post-data',
      wanted: (kind: string) => boolean,
    ): Promise<void> => restoreTables(target, tenant.tenantid, file, { except, section, wanted });
    return {
      restoreTables: (target) => restore(target, 'pre-data', () => true),
      restoreIndexes: (target) =>
        restore(target, 'post-data', (kind) => !SEEING_ROWS.test(kind) && !isReference(kind)),
      restoreTriggers: (target) => restore(target, 'post-data', (kind) => SEEING_ROWS.test(kind)),
      delete: remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Created by `makeReferences` instead, without checking the rows. */
const isReference = (kind: string): boolean => kind.startsWith('FK CONSTRAINT');

const SEEING_ROWS = /^(TRIGGER|RULE|POLICY|ROW SECURITY|MATERIALIZED VIEW DATA)\b/;
