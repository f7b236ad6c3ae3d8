// Writes docs/reference/roles_pbac.md from the declarations in src/control/objects/.
import { isInputObjectType, isObjectType, type GraphQLSchema } from 'graphql';
import type { Column, ControlObject } from '../src/control/derive/declaration.js';
import { OBJECTS } from '../src/control/objects/index.js';

export function controlObjectsPage(schema: GraphQLSchema): string {
  const listed = OBJECTS.filter((object) => object.listed !== false);
  return `# The objects of /roles_pbac

Each is a list of the same name, with \`filter\`, \`ordering\`, \`limit\` and \`offset\`, and most have mutations for one row.
[Security](../explanation/security.md) says who sees which rows, and who may change them. An update changes what it is given, so that
"required" and the defaults are those of a new row.

This page is generated from \`src/control/objects/\` by \`npm run docs\`.

${listed.map((object) => section(object, schema)).join('\n')}`;
}

function section(object: ControlObject, schema: GraphQLSchema): string {
  const { table, singular = table, changes = ['create', 'update', 'delete'] } = object;
  const isReadOnly = !('mayChange' in object);
  const mutations = isReadOnly ? 'none' : changes.map((change) => `\`${change}_${singular}\``).join(', ');
  const rows = Object.entries(object.columns).flatMap(([name, column]) => {
    const [shown, given] = [fieldOf(schema, table, name), fieldOf(schema, `${table}Input`, name)];
    if (!shown && !given) return [];
    const meaning = [shown?.description, given?.description].filter((text) => text != null);
    const cells = [
      `\`${name}\``,
      code(shown?.type.toString()),
      code(given?.type.toString()),
      inputRule(column),
      meaning.join(' '),
    ];
    return [`| ${cells.join(' | ')} |`];
  });
  return `## ${table}

Mutations: ${mutations}.

| Column | Shown as | Given as | In a new row | Meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function fieldOf(schema: GraphQLSchema, typeName: string, field: string) {
  const type = schema.getType(typeName);
  return isObjectType(type) || isInputObjectType(type) ? type.getFields()[field] : undefined;
}

function code(type: string | undefined): string {
  return type === undefined ? '' : `\`${type}\``;
}

function inputRule({ input, required, oneOf, fallback }: Column): string {
  if (!input) return '';
  if (required) return 'required';
  if (oneOf) return `${oneOf.map((text) => `\`${text}\``).join(', ')}; the first when left out`;
  return fallback === undefined ? '' : `\`${JSON.stringify(fallback)}\` when left out`;
}
