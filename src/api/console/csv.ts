/** Excel reads UTF-8 only with it. */
export const BYTE_ORDER_MARK = '\ufeff';

/**
 * What makes a spreadsheet read a cell as a formula (OWASP, CSV injection), also in full width, and after characters that it may
 * skip.
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;
const SIGNS = '=+-@＝＋－＠';
/** What may end a cell, and what may be skipped in the next. */
const GAP = /[;"\s\p{Cc}\p{Cf}]+/gu;
/** Where cells are separated by semicolons, as in much of Europe, a quote within one is no quote, and a line break ends it. */
const END = /[;\t\r\n]/;

/**
 * A line of RFC 4180: each cell in quotes, which are doubled within it. Where a spreadsheet would read a formula in a text, at its
 * beginning or after what it may take for the end of a cell, there is an apostrophe.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

function harmless(text: string): string {
  const apart = text.replace(GAP, (gap, at: number) => {
    const next = text[at + gap.length];
    return next !== undefined && SIGNS.includes(next) && END.test(gap) ? `${gap}'` : gap;
  });
  return FORMULA.test(apart) ? `'${apart}` : apart;
}
