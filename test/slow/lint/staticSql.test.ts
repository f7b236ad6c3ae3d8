import { ESLint } from 'eslint';
import { expect } from 'chai';

/** Read in place of a file of src/db, so that imports and types are those of the project. */
const PLACE = 'src/db/isolation/rights.ts';
const FORBIDDEN: readonly string[] = [
  'void pool.query(name);',
  'void pool.query(`drop table ${name}`);',
  "void pool.query('drop table ' + name);",
  "void pool['query'](name);",
  'void pool.query({ text: name, values: [] });',
  'void knex.raw(name);',
  'const made = `select * from ${name}`; void made;',
  "const made = 'drop table ' + name; void made;",
  'const made = (table: string) => `\n  with t as (select from ${table}) select`; void made;',
  'void pool.query(name as SqlText);',
  'void new Sql([name], []);',
  'void pool.query(formatted(name));',
];
const ALLOWED: readonly string[] = [
  "void pool.query('select 1');",
  'const ONE = `select ${1}` as const; void pool.query(ONE);',
  'void pool.query(statement`drop table ${identifier(name)}`);',
  'void pool.query({ text: statement`select ${identifier(name)}`, values: [] });',
  "void knex.raw('select ?', [name]);",
  'throw new Error(`Update ${name}.`);',
];

describe('the lint rule for SQL', () => {
  const eslint = new ESLint({
    // With CI=true it would read the file in place of the text.
    overrideConfig: { languageOptions: { parserOptions: { disallowAutomaticSingleRunInference: true } } },
  });
  const complaints = async (code: string): Promise<readonly string[]> => {
    const text = `import type { Knex } from 'knex';
      import type { Pool } from 'pg';
      import { formatted, identifier, Sql, statement, type SqlText } from '../sql/sql.js';
      export function example(pool: Pool, knex: Knex, name: string): void {
        ${code}
      }
      export { formatted, identifier, Sql, statement, type SqlText };`;
    const [result] = await eslint.lintText(text, { filePath: PLACE });
    const fatal = result?.messages.find((message) => message.fatal);
    if (fatal) throw new Error(fatal.message);
    return (result?.messages ?? []).flatMap(({ ruleId, message }) =>
      ruleId === 'rowpost/static-sql' ? [message] : [],
    );
  };

  for (const code of FORBIDDEN) {
    it(`finds ${code}`, async () => {
      expect(await complaints(code)).not.to.deep.equal([]);
    });
  }

  for (const code of ALLOWED) {
    it(`allows ${code}`, async () => {
      expect(await complaints(code)).to.deep.equal([]);
    });
  }
});
