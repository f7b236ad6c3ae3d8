/** Text that PostgreSQL can store: without NUL, and without halves of surrogate pairs. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');
}
