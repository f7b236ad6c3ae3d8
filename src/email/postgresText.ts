/** Makes text storable in PostgreSQL: no NUL, no lone surrogates. */
export function toPostgresText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');
}
