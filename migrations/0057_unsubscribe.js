// Recipients who have unsubscribed, from some email types of a tenant or from all that can be unsubscribed from.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.email_types
      add column unsubscribe text not null default 'none' check (unsubscribe in ('none', 'type', 'all'));

    create table rowpost.email_unsubscribe (
      tenantid int not null references rowpost.tenant on delete cascade,
      -- in lower case
      address text not null,
      email_types text[] not null default '{}',
      all_types boolean not null default false,
      source text not null check (source in ('link', 'carrier', 'manual')),
      creatorid int,
      createtime timestamptz not null default now(),
      primary key (tenantid, address)
    );
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
