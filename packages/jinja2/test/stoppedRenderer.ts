// Renders for some tenths of a second in a process of its own, which the test stops meanwhile.
import { createTemplatePool } from '../src/index.js';

const DEADLINE_MS = 1_200;
const limits = { steps: Number.MAX_SAFE_INTEGER, allocations: Number.MAX_SAFE_INTEGER, timeMs: 600_000 };
const SLOW = '{% for i in range(2000) %}{% for j in range(2000) %}{% endfor %}{% endfor %}done';

const pool = createTemplatePool({ limits, deadlineMs: DEADLINE_MS });
const render = (source: string) =>
  pool.render({ contextJson: '{}', templates: [{ name: 't', source, syntax: 'jinja2', mode: 'text' }] });
await render('warm');
process.send?.('begins');
const [outcome] = await render(SLOW);
process.send?.(outcome);
// It ends with the test, however that ends.
process.on('disconnect', () => process.exit());
