// The parts of a letter: text, preheader, reply-to, headers and categories of email types, and of mails in the mailbox.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.email_types
      -- Null: made from the HTML. The word none: no text part.
      add column text text,
      add column preheader text,
      add column reply_to text,
      add column headers jsonb not null default '{}',
      add column categories jsonb not null default '[]';

    alter table rowpost.mailbox
      add column text text,
      add column reply_to text[] not null default '{}',
      add column headers jsonb not null default '{}',
      add column categories text[] not null default '{}';
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
