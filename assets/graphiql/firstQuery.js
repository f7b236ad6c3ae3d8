const MOST_FIELDS = 6;
/** Fields of the root that are no lists of rows. */
const TOOLS = ['Aggregates', 'Utility'];

/** A document to begin with: some rows of the schema's first table. Empty when there is none. */
export function firstQuery(schema) {
  const tables = Object.values(schema.getQueryType()?.getFields() ?? {});
  const table = tables.find((field) => !TOOLS.includes(field.name));
  const columns = Object.values(innermost(table?.type)?.getFields?.() ?? {});
  const values = columns.filter((column) => innermost(column.type).getFields === undefined);
  if (values.length === 0) return '';
  const names = values.slice(0, MOST_FIELDS).map((column) => `    ${column.name}\n`);
  const hasLimit = table.args.some((arg) => arg.name === 'limit');
  return `{\n  ${table.name}${hasLimit ? '(limit: 10)' : ''} {\n${names.join('')}  }\n}\n`;
}

/** The type that lists and non-nulls are of. */
function innermost(type) {
  return type?.ofType ? innermost(type.ofType) : type;
}
