import { graphqlName } from '../db/catalog/names.js';
import { membersOf } from '../foundation/json/jsonText.js';

/**
 * A record as JSON text in which each column is also available under its GraphQL name (`odd_name` for `odd-name`), unless
 * another column has that name.
 */
export function addGraphqlNames(record: string | null): string {
  if (record === null) return 'null';
  const members = membersOf(record);
  const names = new Set(members.map(({ name }) => name));
  const served = members.flatMap(({ name, start, end }) => {
    const wanted = graphqlName(name);
    return names.has(wanted) ? [] : [`,${JSON.stringify(wanted)}:${record.slice(start, end)}`];
  });
  if (served.length === 0) return record;
  return `${record.slice(0, record.lastIndexOf('}'))}${served.join('')}}`;
}
