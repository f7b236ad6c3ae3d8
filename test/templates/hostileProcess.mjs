// Renders one hostile template in a process of its own and prints what it took.
// argv: the compiled index.js of the template library; standard input: the case as JSON.
import { readFileSync } from 'node:fs';

const { compileTemplate } = await import(process.argv[2]);
const { template, context = {}, contextJson, syntax = 'jinja2' } = JSON.parse(readFileSync(0, 'utf8'));
compileTemplate('{{ 1 }}', { syntax }).render({});

const rssBefore = process.memoryUsage().rss;
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
const growthMb = (process.resourceUsage().maxRSS * 1024 - rssBefore) / 2 ** 20;
const escaped = 'pwned' in globalThis || 'pwned' in {} || Object.keys(Object.prototype).length > 0;
process.stdout.write(JSON.stringify({ outcome, cpuMs, growthMb, escaped }));
