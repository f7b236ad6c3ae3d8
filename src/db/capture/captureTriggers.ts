import type { Table } from '../catalog/catalog.js';
import { identifier, join, sql, statement, textConstant, type Sql, type SqlText } from '../sql/sql.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { partitionTree } from './partitionTree.js';

/** By operation: PostgreSQL allows transition tables only in triggers for a single operation. */
const TRIGGERS = {
  insert: (table: Sql) => sql`after insert on ${table} referencing new table as new_rows`,
  update: (table: Sql) =>
    sql`after update on ${table} referencing old table as old_rows new table as new_rows`,
  delete: (table: Sql) => sql`after delete on ${table} referencing old table as old_rows`,
  truncate: (table: Sql) => sql`after truncate on ${table}`,
};

/** A table, or one of its partitions: a direct write to a partition fires only the partition's own triggers. */
export interface CapturedPart {
  readonly schema: string;
  readonly name: string;
  readonly isForeign: boolean;
  readonly owner: string;
  /** Those that call the function of the service, whatever names their table's owner has given them. */
  readonly triggers: readonly PresentTrigger[];
}

interface PresentTrigger {
  readonly name: string;
  /** Null if it is for several, or for each row: then the service did not create it. */
  readonly operation: string | null;
  readonly argsHex: string;
  /** False after `disable trigger`. */
  readonly isEnabled: boolean;
}

/** A table that should be captured, or that still has triggers. */
export interface CaptureState {
  readonly table: string;
  /** False if the triggers were created under another name of the table. */
  readonly isStored: boolean;
  readonly parts: readonly CapturedPart[];
}

/**
 * The existing tables of a schema that are captured or should be. Throws what the driver throws.
 * @param tables SQL names: only these, whether captured or not
 */
export async function readCaptureStates(
  runner: StatementRunner,
  { tenantid, schema }: { readonly tenantid: number; readonly schema: string },
  tables?: readonly string[],
): Promise<readonly CaptureState[]> {
  const { rows } = await runner.query(statesSql(tenantid, schema, tables));
  return rows as readonly CaptureState[];
}

/** The statements after which a part has one trigger for each operation; none if it has. */
export function triggersToRepair(tenantid: number, table: Table, part: CapturedPart): readonly SqlText[] {
  const args = [
    String(tenantid),
    table.sqlName,
    table.name,
    ...table.primaryKey.map((column) => column.sqlName),
  ];
  const argsHex = Buffer.from(args.map((arg) => `${arg}\0`).join('')).toString('hex');
  const operations = Object.entries(TRIGGERS).map(([operation, definition]) => ({
    operation,
    definition,
    // Enabled ones come first.
    kept: part.triggers.find((made) => made.operation === operation && made.argsHex === argsHex),
  }));
  const kept = new Set(operations.map((of) => of.kept));
  const call = sql`rowpost.capture_rows(${join(args.map(textConstant))})`;
  return [
    ...part.triggers.filter((made) => !kept.has(made)).map((made) => dropTrigger(part, made)),
    ...operations
      .filter((of) => !of.kept)
      .map(
        ({ operation, definition }) =>
          statement`create trigger ${identifier(`rowpost_capture_${operation}`)} ${definition(nameOf(part))} for each statement execute function ${call}`,
      ),
  ];
}

/** The statements that drop all triggers of a part. */
export function triggersToDrop(part: CapturedPart): readonly SqlText[] {
  return part.triggers.map((made) => dropTrigger(part, made));
}

/** By its own name, which is the table's owner's choice. */
function dropTrigger(part: CapturedPart, { name }: PresentTrigger): SqlText {
  return statement`drop trigger if exists ${identifier(name)} on ${nameOf(part)}`;
}

function nameOf({ schema, name }: CapturedPart): Sql {
  return identifier(schema, name);
}

/** Partitions may be in other schemas. The bits of tgtype: 4 insert, 8 delete, 16 update, 32 truncate; others for each row, or before. */
function statesSql(tenantid: number, schema: string, tables?: readonly string[]): SqlText {
  const isMeant = tables
    ? sql`c.relname::text in (${join(tables.map(textConstant))})`
    : sql`(w.tenantid is not null or exists (select from pg_catalog.pg_trigger g
          where g.tgrelid = c.oid and g.tgfoid = 'rowpost.capture_rows'::regproc))`;
  return statement`
    with captured as (
      select c.oid, c.relname::text as name, w.tenantid is not null as is_stored from pg_catalog.pg_depend d
        join pg_catalog.pg_class c on d.classid = 'pg_catalog.pg_class'::regclass and c.oid = d.objid
        left join rowpost.captured_table w on w.tenantid = ${tenantid} and w.table_name = c.relname::text
      where d.refclassid = 'pg_catalog.pg_namespace'::regclass
        and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = ${textConstant(schema)})
        and c.relkind in ('r', 'p') and not c.relispartition
        and ${isMeant}
    )
    select c.name as table, c.is_stored as "isStored", (select json_agg(json_build_object(
        'schema', n.nspname, 'name', p.relname, 'isForeign', p.relkind = 'f', 'owner', pg_catalog.pg_get_userbyid(p.relowner),
        'triggers', (select coalesce(json_agg(json_build_object(
              'name', g.tgname, 'argsHex', encode(g.tgargs, 'hex'), 'isEnabled', g.tgenabled in ('O', 'A'),
              'operation', case g.tgtype when 4 then 'insert' when 8 then 'delete' when 16 then 'update' when 32 then 'truncate' end)
            order by g.tgenabled in ('O', 'A') desc, g.oid), '[]')
          from pg_catalog.pg_trigger g where g.tgrelid = p.oid and g.tgfoid = 'rowpost.capture_rows'::regproc))
        order by p.oid)
      from ${partitionTree(sql`c.oid`)} t
        join pg_catalog.pg_class p on p.oid = t.oid join pg_catalog.pg_namespace n on n.oid = p.relnamespace) as parts
    from captured c order by c.name`;
}
