/** What a run has found, printed as it comes and once more at the end, where it is compared with what it must be. */
export interface Findings {
  /** A line for the reader. */
  note(line: string): void;
  /** A figure that has a bar. */
  bar(name: string, value: number, bar: Bar): void;
  /** Prints all figures that have a bar. */
  summarize(): void;
}

export type Bar =
  { readonly atLeast: number; readonly unit?: string } | { readonly atMost: number; readonly unit?: string };

export function createFindings(): Findings {
  const rows: string[] = [];
  return {
    note(line) {
      console.log(`  ${line}`);
    },
    bar(name, value, bar) {
      const isMet = 'atLeast' in bar ? value >= bar.atLeast : value <= bar.atMost;
      const limit = 'atLeast' in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`;
      const unit = bar.unit === undefined ? '' : ` ${bar.unit}`;
      const row = `| ${name} | ${round(value)}${unit} | ${limit}${unit} | ${isMet ? 'met' : 'MISSED'} |`;
      rows.push(row);
      console.log(row);
    },
    summarize() {
      console.log('\n| | measured | bar | |\n| --- | --- | --- | --- |');
      for (const row of rows) console.log(row);
    },
  };
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
