/** Excel reads UTF-8 only with it. */
export const BYTE_ORDER_MARK = '\ufeff';

/**
 * What makes a spreadsheet read a cell as a formula (OWASP, CSV injection), also in full width, and after characters that it may
 * skip.
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;

/**
 * A line of RFC 4180: each cell in quotes, which are doubled within it. A text that a spreadsheet would read as a formula begins
 * with an apostrophe.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}
