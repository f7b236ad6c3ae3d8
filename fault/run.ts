// npm run fault: kills the shipped processes at every moment that matters, under load, and accounts for every mail.
import { writeFile } from 'node:fs/promises';
import { describeMachine } from '../bench/support/report.js';
import { readOptions, USAGE } from './options.js';
import { verdictLines, windowTable } from './report/print.js';
import { runWindows, type WindowsResult } from './windowsRun.js';

const options = optionsOrExit();
const results: WindowsResult[] = [];
console.log(describeMachine());
for (const backend of options.backends) {
  const result = await runWindows({ ...options, backend, only: options.windows, say: (line) => console.log(line) });
  results.push(result);
  console.log(`\nQueue in ${backend}: ${result.orders} mails due, ${result.mails} accepted, ${result.seconds} s\n`);
  console.log(`${windowTable(result.rows)}\n\n${verdictLines(result.verdicts)}`);
  for (const complaint of result.complaints) console.log(`BROKEN  ${complaint}`);
}
if (options.json !== undefined) await writeFile(options.json, JSON.stringify(results, null, 2));
const isSound = results.every(
  ({ complaints, verdicts }) => complaints.length === 0 && verdicts.every(({ breaches }) => breaches.length === 0),
);
process.exit(isSound ? 0 : 1);

function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}
