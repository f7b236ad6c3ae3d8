// Renders hostile templates one after the other, and prints a line for each: what it took.
// argv: the compiled compileTemplate.js of the template library; standard input: the cases as JSON.
import { existsSync, readFileSync, writeSync } from 'node:fs';

const STATUS = '/proc/self/status';

const { compileTemplate } = await import(process.argv[2]);
const cases = JSON.parse(readFileSync(0, 'utf8'));
compileTemplate('{{ 1 }}', { syntax: 'jinja2' }).render({});

const rssAtStart = process.memoryUsage().rss;
for (const { template, context = {}, contextJson, syntax = 'jinja2' } of cases) {
  globalThis.gc();
  const cpuBefore = process.cpuUsage();
  let outcome;
  try {
    const compiled = compileTemplate(template, { syntax, mode: 'html' });
    const output = contextJson === undefined ? compiled.render(context) : compiled.renderJson(contextJson);
    outcome = { ok: true, length: output.length, head: output.slice(0, 200) };
  } catch (error) {
    outcome = { ok: false, name: error.name, kind: error.kind, message: error.message };
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = (user + system) / 1000;
  // The peak of all cases so far: what one of them freed may hide in what the next one takes.
  const growthMb = (peakRssKb() * 1024 - rssAtStart) / 2 ** 20;
  const escaped = 'pwned' in globalThis || 'pwned' in {} || Object.keys(Object.prototype).length > 0;
  writeSync(1, `${JSON.stringify({ outcome, cpuMs, growthMb, escaped })}\n`);
}

/** Linux counts what the parent took before this program began into the peak of `resourceUsage()`. */
function peakRssKb() {
  const own = existsSync(STATUS) && /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(STATUS, 'utf8'))?.[1];
  return own ? Number(own) : process.resourceUsage().maxRSS;
}
