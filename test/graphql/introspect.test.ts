import { expect } from 'chai';
import {
  buildSchema,
  executeSync,
  getIntrospectionQuery,
  Kind,
  parse,
  type FragmentDefinitionNode,
} from 'graphql';
import { AppError } from '../../src/foundation/errors.js';
import { introspect } from '../../src/graphql/introspect.js';
import { collectFields } from '../../src/graphql/read/collectFields.js';
import { complete } from '../../src/graphql/steps.js';

const SCHEMA = buildSchema(`
  "What there is."
  type Query { note(first: Int = 20, of: Filter = {tags: ["a"]}, kind: Kind = SHORT): [Note!]! old: Int @deprecated(reason: "gone") }
  type Note implements Node { id: ID! kind: Kind next(old: Int @deprecated): Note }
  interface Node { id: ID! }
  union Any = Note | Query
  input Filter { tags: [String!]! = [], more: Filter }
  enum Kind { SHORT LONG @deprecated }
  scalar Url @specifiedBy(url: "https://example.com")
  directive @twice(times: Int = 2) repeatable on FIELD | QUERY
`);

/** As graphql-js responses, and as this does; both as JSON text. */
function both(document: string, variables: Record<string, unknown> = {}, maxCharacters = 1e6) {
  const parsed = parse(document);
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of parsed.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }
  const operation = parsed.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  const roots = collectFields({ fragments, variables }, 'Query', operation ? [operation] : []);
  const own = [...roots].map(([key, nodes]) => {
    const json = complete(introspect({ schema: SCHEMA, fragments, variables, maxCharacters }, nodes));
    return `${JSON.stringify(key)}:${json}`;
  });
  const { data } = executeSync({ schema: SCHEMA, document: parsed, variableValues: variables });
  return { own: `{${own.join(',')}}`, expected: JSON.stringify(data) };
}

describe('introspection in steps', () => {
  for (const [title, document, variables] of [
    [
      'the query of every tool',
      getIntrospectionQuery({
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        inputValueDeprecation: true,
        schemaDescription: true,
        oneOf: true,
      }),
    ],
    [
      'without what is deprecated',
      '{ __schema { types { name fields { name args { name } } enumValues { name } } } }',
    ],
    [
      'aliases, fragments and directives',
      `query ($type: String!, $yes: Boolean!) {
        a: __type(name: $type) { ...T kind __typename b: fields(includeDeprecated: $yes) { name @skip(if: $yes) t: type { name } } }
        c: __type(name: "Missing") { name }
        ... on Query { a: __type(name: $type) { fields: interfaces { name } ... on __Type { possibleTypes { name } } } }
        d: __type(name: "Any") { possibleTypes { name } inputFields { name } }
      }
      fragment T on __Type { name description kind }`,
      { type: 'Note', yes: true },
    ],
  ] as const) {
    it(`serves ${title} as graphql-js does`, () => {
      const { own, expected } = both(document, variables);
      expect(own).to.equal(expected);
    });
  }

  it('stops when the response becomes too large', () => {
    expect(() => both('{ __schema { types { name fields { name } } } }', {}, 500)).to.throw(
      AppError,
      'MAX_RESPONSE_BYTES',
    );
  });

  it('yields about every millisecond, however repetitive the document', () => {
    const names = Array.from({ length: 900 }, (_, index) => `a${index}: name`).join(' ');
    const [operation] = parse(`{ __schema { types { fields { ${names} } } } }`).definitions;
    const node =
      operation?.kind === Kind.OPERATION_DEFINITION ? operation.selectionSet.selections[0] : undefined;
    if (node?.kind !== Kind.FIELD) throw new Error('no field');
    const scope = { schema: SCHEMA, fragments: new Map(), variables: {}, maxCharacters: 1e7 };
    const steps = [...introspect(scope, [node])];
    expect(steps.length).to.be.above(20);
  });
});
