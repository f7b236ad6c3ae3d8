// What a missing name does in an email type, and what an email type was before.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.email_types
      add column undefined text not null default 'lenient' check (undefined in ('lenient', 'strict'));

    -- An email type as it was saved, and its draft. There is no reference: a draft may be older than its type.
    create table rowpost.email_type_version (
      tenantid int not null references rowpost.tenant on delete cascade,
      email_type text not null,
      -- 0: the draft, which is not live
      version int not null,
      -- all that the input of the API holds
      content jsonb not null,
      creatorid int,
      createtime timestamptz not null default now(),
      primary key (tenantid, email_type, version)
    );
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
