// Writes docs/reference/roles_pbac.md from the declarations in src/control/objects/ and the schema that is derived from them.
import { readdirSync, readFileSync } from 'node:fs';
import {
  isEnumType,
  isInputObjectType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
} from 'graphql';
import type { Column, ControlObject } from '../src/control/derive/declaration.js';
import { OBJECTS } from '../src/control/objects/index.js';

type Field = GraphQLField<unknown, unknown> | GraphQLInputField;

export function controlObjectsPage(schema: GraphQLSchema): string {
  const described = new Set(['Query', 'Mutation', 'Utility', 'UtilityMutation']);
  for (const { table } of OBJECTS) described.add(table).add(`${table}Input`);
  const others = Object.values(schema.getTypeMap()).filter(
    ({ name }) => !name.startsWith('__') && !described.has(name),
  );
  const types = others.filter((type) => isObjectType(type) || isInputObjectType(type));
  const scalars = others.flatMap((type) =>
    isEnumType(type) || isObjectType(type) || isInputObjectType(type) || isSpecifiedScalarType(type)
      ? []
      : [`| \`${type.name}\` | ${plain(type.description)} |`],
  );
  return `# The objects of /roles_pbac

Each object is a list of the same name, with \`filter\`, \`ordering\`, \`limit\` and \`offset\` as at [/query](query.md#lists), and most have
mutations for one row. [Permissions](permissions.md) says who sees which rows, and who may change them. An update changes what it is given,
so that "required" and the defaults are those of a new row. \`Aggregates\` counts and sums rows of these lists as it does at
[/query](query.md#aggregates). [Examples](roles_pbac-examples.md) has each operation with a response.

This page is generated from \`src/control/objects/\` by \`npm run docs\`.

## Capabilities

What roles can be allowed to do, by their \`capabilities\` and by those of policy rules. Anonymous clients, who need \`create_role\` and
\`view_role\` to sign up, see no role but the one that they share.

| Capability | Lets a role |
| --- | --- |
${capabilities().join('\n')}

${OBJECTS.flatMap((object) => section(object, schema)).join('\n')}
## Utility

Queries: \`{ Utility { … } }\`

${fieldTable(fieldsOf(schema, 'Utility'))}

## Mutations of Utility

\`mutation { Utility { … } }\`

${fieldTable(fieldsOf(schema, 'UtilityMutation'))}

## Further fields

Of \`Query\`:

${fieldTable(rootFields(schema, 'Query'))}

Of \`Mutation\`:

${fieldTable(rootFields(schema, 'Mutation'))}

## Other types

${types.map(({ name, description }) => `### ${name}\n\n${description == null ? '' : `${plain(description)}\n\n`}${fieldTable(fieldsOf(schema, name))}`).join('\n\n')}

## Enums and scalars

| Enum | Value | Meaning |
| --- | --- | --- |
${others
  .filter(isEnumType)
  .flatMap(({ name }) => enumRows(schema, name))
  .join('\n')}

| Scalar | Meaning |
| --- | --- |
${scalars.join('\n')}
`;
}

/** Those that belong to no object. */
function rootFields(schema: GraphQLSchema, name: 'Query' | 'Mutation'): readonly Field[] {
  return fieldsOf(schema, name).filter(
    (field) => !OBJECTS.some((object) => signatures(object, schema).includes(`\n${signature(field)}\n`)),
  );
}

/** They are rows that the schema of the database starts with. */
function capabilities(): readonly string[] {
  const folder = new URL('../migrations/', import.meta.url);
  const later = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const texts = ['schema/20_roles.sql', ...later.toSorted()].map((name) =>
    readFileSync(new URL(name, folder), 'utf8'),
  );
  const values = texts
    .flatMap((text) => /insert into rowpost\.capability [^;]*?values\n(.*?);$/ms.exec(text)?.[1] ?? [])
    .join('\n');
  return [...values.matchAll(/^\s*\('(\w+)', '\w+', '\w+', '([^']*)'\)/gm)].map(
    ([, name = '', description = '']) => `| \`${name}\` | ${description} |`,
  );
}

function section(object: ControlObject, schema: GraphQLSchema): readonly string[] {
  const { table, listed, description } = object;
  const shown = fieldsOf(schema, table);
  if (shown.length === 0) return [];
  const given = fieldsOf(schema, `${table}Input`);
  const rows = Object.entries(object.columns).flatMap(([name, column]) => {
    const [output, input] = [shown, given].map((fields) => fields.find((field) => field.name === name));
    if (!output && !input) return [];
    const meaning = [output?.description, input?.description].filter((text) => text != null).map(plain);
    const cells = [
      `\`${name}\``,
      code(output?.type.toString()),
      code(input?.type.toString()),
      inputRule(column),
      meaning.join(' '),
    ];
    return [`| ${cells.join(' | ')} |`];
  });
  const relations = shown.filter(({ name }) => !(name in object.columns));
  return [
    `## ${table}

${description === undefined ? '' : `${plain(description)}\n\n`}${listed === false ? 'Only within other objects.' : signatures(object, schema)}

| Column | Output type | Input type | On create | Meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
${relations.length === 0 ? '' : `\nRelated rows:\n\n${fieldTable(relations)}\n`}`,
  ];
}

/** The list and the mutations. */
function signatures(object: ControlObject, schema: GraphQLSchema): string {
  const { table, singular = table } = object;
  const lists = fieldsOf(schema, 'Query').filter(({ name }) => name === table);
  const mutations = fieldsOf(schema, 'Mutation').filter(({ name }) =>
    ['create', 'update', 'delete'].some((change) => name === `${change}_${singular}`),
  );
  const lines = [...lists, ...mutations].map((field) => signature(field));
  return `\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}

function fieldTable(fields: readonly Field[]): string {
  const rows = fields.map((field) => {
    const args = 'args' in field ? field.args : [];
    const meanings = args.flatMap(({ name, description }) =>
      description == null ? [] : [`\`${name}\`: ${plain(description)}`],
    );
    return `| \`${signature(field)}\` | ${[plain(field.description), ...meanings].join(' ').trim()} |`;
  });
  return `| Field | Meaning |\n| --- | --- |\n${rows.join('\n')}`;
}

function signature(field: Field): string {
  const args: readonly GraphQLArgument[] = 'args' in field ? field.args : [];
  const given = args.map(({ name, type }) => `${name}: ${type.toString()}`).join(', ');
  return `${field.name}${given === '' ? '' : `(${given})`}: ${field.type.toString()}`;
}

function enumRows(schema: GraphQLSchema, name: string): readonly string[] {
  const type = schema.getType(name);
  return isEnumType(type)
    ? type.getValues().map((value) => `| \`${name}\` | \`${value.name}\` | ${plain(value.description)} |`)
    : [];
}

function fieldsOf(schema: GraphQLSchema, name: string): readonly Field[] {
  const type = schema.getType(name);
  const fields: Readonly<Record<string, Field>> =
    isObjectType(type) || isInputObjectType(type) ? type.getFields() : {};
  return Object.values(fields);
}

/** Fit for a cell of a table. */
function plain(text: string | null | undefined): string {
  return (text ?? '').replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

function code(type: string | undefined): string {
  return type === undefined ? '' : `\`${type}\``;
}

function inputRule({ input, required, oneOf, fallback }: Column): string {
  if (!input) return '';
  if (required) return 'required';
  if (oneOf) return `${oneOf.map((text) => `\`${text}\``).join(', ')}; default the first`;
  return fallback === undefined ? '' : `default \`${JSON.stringify(fallback)}\``;
}
