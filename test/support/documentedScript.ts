import { readFileSync } from 'node:fs';

/** The SQL that a page has the operator pass to `rowpost tenant sql`. @param page below docs/ */
export function documentedScript(page: string, name: string): string {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const [, sql] = new RegExp(`^\`\`\`sh ${name}\\n[^\\n]*<<SQL\\n(.*?)^SQL$`, 'ms').exec(text) ?? [];
  if (sql === undefined) throw new Error(`docs/${page} has no block ${name}`);
  return sql;
}
