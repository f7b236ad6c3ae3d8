// A write of the API to a captured table took the trigger's way for unusual tables, which costs twice as much.

export async function up(knex) {
  const { rows } = await knex.raw(
    `select pg_get_functiondef('rowpost.capture_rows()'::regprocedure) as definition`,
  );
  let definition = rows[0].definition;
  const replace = (from, to, times) => {
    const parts = definition.split(from);
    if (parts.length !== times + 1) throw new Error(`rowpost.capture_rows is not as expected: ${from}`);
    definition = parts.join(to);
  };
  replace(
    'event_role int;',
    `event_role int;
      -- Said by the API in its own statement; true only of a table of the tenant that says it.
      said_role text := nullif(current_setting('rowpost.roleid', true), '');
      own_tenant int;`,
    1,
  );
  replace(
    `-- The usual case: another writer, a table that is no partition`,
    `-- The usual case: no upload, a table that is no partition`,
    1,
  );
  replace(
    `if concat(current_setting('rowpost.roleid', true), current_setting('rowpost.uploading', true)) = '' then`,
    `if said_role is not null then own_tenant := rowpost_tenant.tenantid(); end if;
      if coalesce(current_setting('rowpost.uploading', true), '') = '' then`,
    1,
  );
  for (const operation of ['insert', 'update', 'delete']) {
    replace(
      `select e.tenantid, null, '${operation}', tg_argv[2]`,
      `select e.tenantid, case when e.tenantid = own_tenant then said_role::int end, '${operation}', tg_argv[2]`,
      1,
    );
  }
  replace(
    `, session_user, current_setting('application_name')`,
    `, case when e.tenantid = own_tenant then null else session_user end,
            case when e.tenantid = own_tenant then null else current_setting('application_name') end`,
    3,
  );
  await knex.raw(definition.replaceAll('?', '\\?'));
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
