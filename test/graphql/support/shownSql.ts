/** SQL for readers: without the schema of PostgreSQL's own operators, functions and types, which is named with each of them. */
export function shownSql(text: string): string {
  return text.replaceAll(/operator\(pg_catalog\.([^)]+)\)/g, '$1').replaceAll('pg_catalog.', '');
}
