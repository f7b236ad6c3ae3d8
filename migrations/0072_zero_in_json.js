// The key of a captured row is looked up in the row's JSON. PostgreSQL can't do that if a `json` column holds \u0000, which
// made the write fail.

export async function up(knex) {
  const rewrite = async (name, replacements) => {
    const { rows } = await knex.raw('select pg_get_functiondef(?::regprocedure) as definition', [name]);
    let { definition } = rows[0];
    for (const [from, to] of replacements) {
      const parts = definition.split(from);
      if (parts.length !== 2) throw new Error(`${name} is not as expected: ${from}`);
      definition = parts.join(to);
    }
    await knex.raw(definition.replaceAll('?', '\\?'));
  };
  // A backslash before it would make it the text \u0000, which a key may contain.
  const safe = (json) => `(case when strpos(${json}::text, '\\u0000') = 0 then ${json}
            else regexp_replace(${json}::text, '(?<!\\\\)((\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g')::json end)`;
  await rewrite('rowpost.capture_rows()', [
    ['(select after, after -> tg_argv[3]', `(select after, ${safe('after')} -> tg_argv[3]`],
    ['b.after, b.after -> tg_argv[3]', `b.after, ${safe('b.after')} -> tg_argv[3]`],
    ['(select before, before -> tg_argv[3]', `(select before, ${safe('before')} -> tg_argv[3]`],
  ]);
  await rewrite('rowpost.event_key(json,text[])', [['(captured -> c)', `(${safe('captured')} -> c)`]]);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
