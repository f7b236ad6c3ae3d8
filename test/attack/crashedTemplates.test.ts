import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createTemplatePool } from 'rowpost-jinja2';

/** A template that takes too much memory ends its process, which left all its memory in a file of 180 MB. */
describe('attack: templates that end their process', () => {
  const parentOf = (pid: string): string | undefined =>
    /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];

  function children(): readonly string[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.filter((pid) => {
      try {
        return parentOf(pid) === String(process.pid);
      } catch {
        return false;
      }
    });
  }

  if (process.platform !== 'linux') return;
  it('leave nothing of what it held on disk', async () => {
    const others = new Set(children());
    const pool = createTemplatePool();
    const request = { name: 'template', source: 'x', syntax: 'jinja2', mode: 'text' } as const;
    await pool.render({ contextJson: '{}', templates: [request] });
    const started = children().filter((pid) => !others.has(pid));
    const filters = started.map((pid) => readFileSync(`/proc/${pid}/coredump_filter`, 'utf8').trim());
    expect(filters).to.deep.equal(['00000000']);
    await pool.close();
  });
});
