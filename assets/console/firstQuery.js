const MOST_FIELDS = 6;
/** Fields of the root that are no lists of rows. */
const TOOLS = ['Aggregates', 'Utility'];

/** A document to begin with: some rows of the schema's first table. Empty when there is none. */
export function firstQuery(schema) {
  const types = new Map(schema.types.map((type) => [type.name, type]));
  const root = types.get(schema.queryType?.name);
  const table = root?.fields.find((field) => !TOOLS.includes(field.name));
  const row = table && types.get(innermost(table.type).name);
  if (!row) return '';
  const values = row.fields.filter((field) => ['SCALAR', 'ENUM'].includes(innermost(field.type).kind));
  const names = values.slice(0, MOST_FIELDS).map((field) => `    ${field.name}\n`);
  if (names.length === 0) return '';
  const hasLimit = table.args.some((arg) => arg.name === 'limit');
  return `{\n  ${table.name}${hasLimit ? '(limit: 10)' : ''} {\n${names.join('')}  }\n}\n`;
}

function innermost(type) {
  return type.ofType ? innermost(type.ofType) : type;
}
