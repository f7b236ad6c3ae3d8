// Templates that the templates of a tenant's email types extend, include and import.

export async function up(knex) {
  await knex.raw(`
    create table rowpost.email_layouts (
      tenantid int not null references rowpost.tenant on delete cascade,
      name text not null check (name <> ''),
      template text not null,
      -- the layouts that it names, directly or in others, there or not
      layout_names text[] not null default '{}',
      -- its data decides which layouts it loads
      any_layout boolean not null default false,
      creatorid int,
      createtime timestamptz not null default now(),
      primary key (tenantid, name)
    );

    -- Written anew with every change of a layout that the type uses, which makes a new version of the type.
    alter table rowpost.email_types
      add column layout_names text[] not null default '{}',
      add column any_layout boolean not null default false;
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
