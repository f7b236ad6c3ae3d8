import { join, sql, textConstant, type Sql } from '../../db/sql/sql.js';

/** A JSON object with these members. */
export function objectText(members: readonly (readonly [key: string, value: string | Sql])[]): Sql {
  const parts = members.flatMap(([key, value], index) => [
    `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`,
    value,
  ]);
  return concatText([...parts, members.length === 0 ? '{}' : '}']);
}

/** Operands of one `||` chain: longer chains copy their prefix over and over. */
const CHAIN = 12;

/**
 * Concatenates constants and expressions. Text concatenation builds nested JSON in 1.1 ms where json_build_object takes
 * 1.6 ms (20 × 10 × 3 rows), and has no limit on arguments or key length.
 */
function concatText(parts: readonly (string | Sql)[]): Sql {
  let pieces = mergeConstants(parts);
  while (pieces.length > CHAIN) {
    const groups: Sql[] = [];
    for (let i = 0; i < pieces.length; i += CHAIN) {
      const group = pieces.slice(i, i + CHAIN);
      groups.push(
        group.length === 1
          ? join(group, ' operator(pg_catalog.||) ')
          : sql`(${join(group, ' operator(pg_catalog.||) ')})`,
      );
    }
    pieces = groups;
  }
  return join(pieces, ' operator(pg_catalog.||) ');
}

function mergeConstants(parts: readonly (string | Sql)[]): Sql[] {
  const pieces: Sql[] = [];
  let constant = '';
  const flush = (): void => {
    if (constant !== '') pieces.push(textConstant(constant));
    constant = '';
  };
  for (const part of parts) {
    if (typeof part === 'string') {
      constant += part;
    } else {
      flush();
      pieces.push(part);
    }
  }
  flush();
  return pieces;
}
