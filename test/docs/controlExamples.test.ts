import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { buildSchema, isObjectType, parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { readSteps } from './guide.js';

const schema = buildSchema(readFileSync(new URL('../control/schema.graphql', import.meta.url), 'utf8'));

describe('docs/reference/roles_pbac-examples.md', () => {
  const requests = readSteps('reference/roles_pbac-examples.md').map(({ text }) => parse(text));

  for (const name of ['Query', 'Mutation', 'Utility', 'UtilityMutation', 'Aggregates']) {
    it(`has every field of ${name}`, () => {
      const shown = new Set<string>();
      const types = new TypeInfo(schema);
      const note = {
        Field: ({ name: field }: { readonly name: { readonly value: string } }) => {
          if (types.getParentType()?.name === name) shown.add(field.value);
        },
      };
      for (const request of requests) visit(request, visitWithTypeInfo(types, note));
      const type = schema.getType(name);
      if (!isObjectType(type)) throw new Error(`there is no ${name}`);
      expect(Object.keys(type.getFields()).filter((field) => !shown.has(field))).to.deep.equal([]);
    });
  }
});
