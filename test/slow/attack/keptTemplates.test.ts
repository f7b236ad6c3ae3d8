import { expect } from 'chai';
import { createTemplatePool, type Syntax } from 'rowpost-jinja2';

/** A render process keeps compiled templates of all tenants; those of one filled its heap, so that jobs of others ended it. */
describe('attack: templates that take much memory once compiled', function () {
  it("leave the process's heap to other tenants", async function () {
    const rows = Array.from({ length: 100_000 }, (_, n) => ({ n, text: 'x'.repeat(40) }));
    const data = JSON.stringify({ rows });
    const pool = createTemplatePool({ deadlineMs: 60_000 });
    const render = async (tenantid: number, source: string, syntax: Syntax, contextJson: string) => {
      const templates = [{ name: 'template', source, syntax, mode: 'html' } as const];
      const [outcome] = await pool.render({ tenantid, contextJson, templates });
      return outcome?.ok ? outcome.output : outcome?.error.message;
    };
    // Nothing takes more memory for its length.
    const source = '{{a}}'.repeat(20_000);
    for (let at = 0; at < 7; at++) {
      await render(1, `${at}${source}`, 'liquid', '{}');
      expect(await render(2, '{{ rows|length }} rows', 'jinja2', data)).to.equal('100000 rows');
    }
    await pool.close();
  });
});
