import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';

const ROOT = new URL('../../../', import.meta.url);
const PAGE = readFileSync(new URL('bench/simulate/README.md', ROOT), 'utf8');
/** The part that each command computes. */
const PARTS = [
  { command: 'check', text: PAGE.slice(PAGE.indexOf('Measured → computed'), PAGE.indexOf('| Prediction |')) },
  { command: 'plan', text: PAGE.slice(PAGE.indexOf('## Large installations')) },
];

const numbersIn = (text: string): readonly string[] =>
  text.replaceAll(',', '').match(/(?<![\w.])\d+(\.\d+)?/g) ?? [];
const rowsOf = (text: string): readonly string[] => text.split('\n').filter((line) => /^\| \D*\d/.test(line));
const keyOf = (row: string): string | undefined => numbersIn(row)[0];

/** Whether a figure of the page is this one, rounded. */
const isRounded = (shown: string, exact: string): boolean =>
  Math.abs(Number(shown) - Number(exact)) <= 0.5001 * 10 ** -(shown.split('.')[1] ?? '').length;

describe('the figures of bench/simulate/README.md', function () {
  this.timeout(900_000);

  for (const { command, text } of PARTS) {
    it(`are those that "simulate ${command}" computes`, async () => {
      const args = ['--import', 'tsx', 'bench/simulate/run.ts', command];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
      const rows = rowsOf(text);
      expect(rows).to.have.length.above(4);
      const wrong = rows.filter((row) => {
        const same = rowsOf(stdout).filter((line) => keyOf(line) === keyOf(row));
        const computed = numbersIn((same.length > 0 ? same : rowsOf(stdout)).join('\n'));
        return !numbersIn(row).every((shown) => computed.some((exact) => isRounded(shown, exact)));
      });
      expect(wrong).to.deep.equal([]);
    });
  }
});
