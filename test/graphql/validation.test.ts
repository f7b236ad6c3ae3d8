import { expect } from 'chai';
import { buildSchema, parse, specifiedRules, validate } from 'graphql';
import { validateInSteps } from '../../src/graphql/document/validateInSteps.js';

const SCHEMA = buildSchema(`
  directive @mark(with: Int) on FIELD | FRAGMENT_SPREAD | QUERY
  enum Color { RED GREEN }
  input Range { from: Int!, to: Int, colors: [Color!] }
  interface Named { name: String }
  type Note implements Named { id: Int!, name: String, text(in: Range, first: Int = 3): String, next: Note }
  type Query { note(id: Int!, range: Range): Note, named: Named, notes(ids: [Int!]): [Note!]! }
  type Mutation { write(range: Range!): Note }`);

const DOCUMENTS: readonly (readonly [what: string, text: string])[] = [
  ['a valid query', 'query ($id: Int!) { note(id: $id) { id name } }'],
  ['a variable that is not defined', '{ note(id: $id) { id } }'],
  ['a variable that is not used', 'query ($id: Int, $other: Int) { note(id: 1) { text(first: $id) } }'],
  ['a variable of another type', 'query ($id: String) { note(id: $id) { id } }'],
  [
    'a nullable variable where there is a default',
    'query ($first: Int) { note(id: 1) { text(first: $first) } }',
  ],
  [
    'variables within lists and objects',
    'query ($a: Int, $c: [Color]) { notes(ids: [1, $a]) { text(in: {from: $a, colors: $c}) } }',
  ],
  [
    'a variable of a later fragment',
    'query ($id: Int) { ...f } fragment f on Query { note(id: $id) { id } }',
  ],
  [
    'a variable of an earlier fragment',
    'fragment f on Query { note(id: $id) { id } } query A { ...f } query B($id: Int!) { ...f }',
  ],
  [
    'fragments that contain each other',
    'query ($x: Int) { ...a } fragment a on Query { ...b } fragment b on Query { ...a note(id: $x) { id } }',
  ],
  [
    'variables of directives',
    'query ($if: String, $n: Int) @mark(with: $n) { note(id: 1) @include(if: $if) { id @mark(with: $m) } }',
  ],
  [
    'inline fragments',
    'query ($id: Int!) { named { ... on Note { text(in: {from: $id}) next { text(first: $no) } } ... on Gone { id } } }',
  ],
  [
    'unknown fields, arguments and values',
    '{ note(id: "1", gone: 2) { gone text(in: {from: RED, what: 1}) } }',
  ],
  ['fields that conflict', '{ note(id: 1) { a: id a: name } note(id: 2) { id } }'],
  ['two operations without names', '{ note(id: 1) { id } } { note(id: 2) { id } }'],
  ['a variable defined twice', 'query ($id: Int!, $id: Int) { note(id: $id) { id } }'],
  [
    'a mutation',
    'mutation ($r: Range!, $n: Int) { write(range: $r) { id } other: write(range: {from: $n}) { id } }',
  ],
  ['type definitions', 'type Mine { id: Int } { note(id: 1) { id } }'],
];

/** The steps must find what graphql-js finds, in its order. */
describe('validation in steps', () => {
  for (const [what, text] of DOCUMENTS) {
    it(`finds the same errors as graphql-js in ${what}`, () => {
      const document = parse(text);
      const expected = validate(SCHEMA, document, specifiedRules);
      const steps = validateInSteps(SCHEMA, document, specifiedRules, 20);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      expect(step.value.map((error) => error.toJSON())).to.deep.equal(
        expected.map((error) => error.toJSON()),
      );
    });
  }

  it('yields every few hundred nodes, even while collecting variables', () => {
    const fields = Array.from({ length: 2_000 }, (_, n) => `a${n}: note(id: $id) { id }`);
    const steps = validateInSteps(
      SCHEMA,
      parse(`query ($id: Int!) { ${fields.join(' ')} }`),
      specifiedRules,
      20,
    );
    let count = 0;
    while (steps.next().done !== true) count++;
    // Two walks over 20,000 nodes.
    expect(count).to.be.above(190);
  });
});
