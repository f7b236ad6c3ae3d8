/** Whether PostgreSQL stores a text as it is: it has no NUL, and would make one of texts that differ by a lone surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
