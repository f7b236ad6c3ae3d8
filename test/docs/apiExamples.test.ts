import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { setFileTable } from '../../src/db/files/fileTables.js';
import { openShop, type Reply, type Shop } from '../graphql/support/shop.js';

/** A `graphql` block of docs/reference/query.md with the blocks that follow it: variables, and the data or the errors of the response. */
interface Example {
  readonly line: number;
  readonly query: string;
  readonly variables: Record<string, unknown> | undefined;
  readonly data: unknown;
  readonly errors: readonly object[] | undefined;
}

interface FileTable {
  readonly table: string;
  readonly column: string;
}

interface Block {
  readonly kind: string;
  readonly text: string;
  readonly line: number;
}

const { tables, examples, fileTable } = readExamples();

describe('docs/reference/query.md', () => {
  let shop: Shop | undefined;
  after(() => shop?.close());

  async function openExampleShop(): Promise<Shop> {
    const opened = await openShop(tables);
    const { tenantid, rootRoleid } = opened.tenant;
    await setFileTable(opened.test.database.pool, tenantid, rootRoleid, fileTable);
    return opened;
  }

  /** Examples build on the tables as the page shows them: after a mutation, on new ones. */
  async function ask(query: string, variables: Example['variables']): Promise<Reply> {
    const asked = (shop ??= await openExampleShop());
    const reply = await asked.ask(query, variables);
    if (query.includes('mutation')) {
      shop = undefined;
      await asked.close();
    }
    return reply;
  }

  it('shows the data API by examples', () => {
    expect(examples).to.have.length.at.least(10);
  });

  for (const { line, query, variables, data, errors } of examples) {
    it(`line ${line} returns what the page shows`, async () => {
      const reply = await ask(query, variables);
      if (errors === undefined) {
        expect(reply.errors, reply.body).to.equal(undefined);
        expect(elided(reply.data, data)).to.deep.equal(data);
        return;
      }
      expect(reply.errors, reply.body).to.have.length(errors.length);
      errors.forEach((expected, index) =>
        expect(partOf(reply.errors![index], expected)).to.deep.equal(expected),
      );
    });
  }
});

/** Where the page shows `…` any text will do. */
function elided(actual: unknown, expected: unknown): unknown {
  if (expected === '…' && typeof actual === 'string' && actual !== '') return expected;
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) return actual;
  const inner = expected as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(actual as Record<string, unknown>).map(([key, value]) => [key, elided(value, inner[key])]),
  );
}

/** Of `actual` what `expected` names: the page shows what matters. */
function partOf(actual: unknown, expected: unknown): unknown {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) return actual;
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => [
      key,
      partOf((actual as Record<string, unknown>)[key], value),
    ]),
  );
}

/** @returns also the file table that the page's request to /roles_pbac makes */
function readExamples(): { tables: string; examples: readonly Example[]; fileTable: FileTable } {
  const page = readFileSync(new URL('../../docs/reference/query.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+(?: \w+)?)\n(.*?)^```$/gms)].map((match): Block => ({
    kind: match[1]!,
    text: match[2]!,
    line: page.slice(0, match.index).split('\n').length,
  }));
  const found = blocks.flatMap((block, index): Example[] => {
    if (block.kind !== 'graphql') return [];
    const next = blocks.slice(index + 1);
    const end = next.findIndex(({ kind }) => !kind.startsWith('json'));
    const own = end < 0 ? next : next.slice(0, end);
    const parsed = (kind: string): unknown => {
      const text = own.find((item) => item.kind === kind)?.text;
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    };
    const example = {
      line: block.line,
      query: block.text,
      variables: parsed('json variables') as Example['variables'],
      data: parsed('json'),
      errors: parsed('json errors') as Example['errors'],
    };
    if (example.data === undefined && example.errors === undefined) {
      throw new Error(`docs/reference/query.md, line ${block.line}: the example has no response`);
    }
    return [example];
  });
  const others = blocks.filter(({ kind }) => kind === 'graphql roles_pbac').map(({ text }) => text);
  const [, table = '', column = ''] =
    /^mutation \{\n {2}Utility \{ set_file_table\(table_name: "(\w+)", column_name: "(\w+)"\) \{ table_name column_name \} \}\n\}\n$/.exec(
      others.join(''),
    ) ?? [];
  return {
    tables: blocks.find(({ kind }) => kind === 'sql')!.text,
    examples: found,
    fileTable: { table, column },
  };
}
