/** Makes text storable in PostgreSQL: no NUL, no lone surrogates. A text that is cut may end with one: cut it first. */
export function toPostgresText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');
}

/** JSON text that PostgreSQL can read. It would refuse one with any other text, and with it all that the same statement records. */
export function toPostgresJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'string' ? toPostgresText(item) : item,
  );
}
