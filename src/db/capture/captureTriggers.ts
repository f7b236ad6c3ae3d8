import type { Table } from '../catalog/catalog.js';
import { literal, quoted } from '../sql.js';
import type { StatementRunner } from '../connection/roleNames.js';

/** Raised with every change to the trigger definitions; migrations replace the functions they call. */
const TRIGGER_VERSION = '1';

/** By operation: PostgreSQL allows transition tables only in triggers for a single operation. */
const TRIGGERS = {
  insert: 'referencing new table as new_rows',
  update: 'referencing old table as old_rows new table as new_rows',
  delete: 'referencing old table as old_rows',
  truncate: '',
} as const;

/** A table, or one of its partitions: a direct write to a partition fires only the partition's own triggers. */
export interface CapturedPart {
  readonly schema: string;
  readonly name: string;
  readonly isForeign: boolean;
  readonly owner: string;
  readonly triggers: readonly {
    readonly operation: string;
    readonly argsHex: string;
    /** False after `disable trigger`. */
    readonly isEnabled: boolean;
  }[];
}

/** A table that should be captured, or that still has triggers. */
export interface CaptureState {
  readonly table: string;
  /** False if the triggers were created under another name of the table. */
  readonly isStored: boolean;
  readonly parts: readonly CapturedPart[];
}

/** The existing tables of a schema that are captured or should be. Throws what the driver throws. */
export async function readCaptureStates(
  runner: StatementRunner,
  { tenantid, schema }: { readonly tenantid: number; readonly schema: string },
): Promise<readonly CaptureState[]> {
  const { rows } = await runner.query(statesSql(tenantid, schema));
  return rows as readonly CaptureState[];
}

/** The statements that create a part's missing triggers. */
export function triggersToCreate(table: Table, part: CapturedPart): readonly string[] {
  const args = [
    TRIGGER_VERSION,
    table.sqlName,
    table.name,
    ...table.primaryKey.map((column) => column.sqlName),
  ];
  const argsHex = Buffer.from(args.map((arg) => `${arg}\0`).join('')).toString('hex');
  return Object.entries(TRIGGERS)
    .filter(
      ([operation]) =>
        !part.triggers.some((made) => made.operation === operation && made.argsHex === argsHex),
    )
    .map(
      ([operation, referencing]) =>
        `create or replace trigger rowpost_capture_${operation} after ${operation} on ${nameOf(part)} ${referencing} for each statement execute function rowpost.capture_rows(${args.map(literal).join(', ')})`,
    );
}

/** The statements that drop all triggers of a part. */
export function triggersToDrop(part: CapturedPart): readonly string[] {
  return part.triggers.map(
    ({ operation }) => `drop trigger if exists rowpost_capture_${operation} on ${nameOf(part)}`,
  );
}

function nameOf({ schema, name }: CapturedPart): string {
  return quoted(schema, name);
}

/** Partitions may be in other schemas. */
function statesSql(tenantid: number, schema: string): string {
  return `
    with captured as (
      select c.oid, c.relname::text as name, w.tenantid is not null as is_stored from pg_catalog.pg_depend d
        join pg_catalog.pg_class c on d.classid = 'pg_catalog.pg_class'::regclass and c.oid = d.objid
        left join rowpost.captured_table w on w.tenantid = ${tenantid} and w.table_name = c.relname::text
      where d.refclassid = 'pg_catalog.pg_namespace'::regclass
        and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = ${literal(schema)})
        and c.relkind in ('r', 'p') and not c.relispartition
        and (w.tenantid is not null or exists (select from pg_catalog.pg_trigger g
          where g.tgrelid = c.oid and g.tgfoid = 'rowpost.capture_rows'::regproc))
    )
    select c.name as table, c.is_stored as "isStored", (select json_agg(json_build_object(
        'schema', n.nspname, 'name', p.relname, 'isForeign', p.relkind = 'f', 'owner', pg_catalog.pg_get_userbyid(p.relowner),
        'triggers', (select coalesce(json_agg(json_build_object(
              'operation', replace(g.tgname, 'rowpost_capture_', ''), 'argsHex', encode(g.tgargs, 'hex'),
              'isEnabled', g.tgenabled in ('O', 'A'))), '[]')
          from pg_catalog.pg_trigger g where g.tgrelid = p.oid and g.tgfoid = 'rowpost.capture_rows'::regproc))
        order by p.oid)
      from (select c.oid union select relid from pg_catalog.pg_partition_tree(c.oid)) t
        join pg_catalog.pg_class p on p.oid = t.oid join pg_catalog.pg_namespace n on n.oid = p.relnamespace) as parts
    from captured c order by c.name`;
}
