import {
  buildSchema,
  execute,
  parse,
  TypeInfo,
  validate,
  ValidationContext,
  type ASTNode,
  type OperationDefinitionNode,
  type ValidationRule,
} from 'graphql';
import { validateInSteps } from '../../src/graphql/document/validateInSteps.js';
import { contractOf } from './contract.js';

const must = contractOf('graphql');

const schema = buildSchema(`
  input In { x: Int! list: [In] }
  interface Node { id: ID }
  type Item implements Node { id: ID }
  type Query { item(input: In, texts: [String], e: E, f: Float, b: Boolean): Node }
  enum E { ONE }`);

/** Has every kind of node of an executable document. */
const DOCUMENT = parse(`
  query Q($input: In! = { x: 1, list: [{ x: 2 }] } @d, $texts: [String!]) @a(b: "text") {
    alias: item(input: $input, texts: $texts, e: ONE, f: 1.5, b: true) @include(if: false) {
      ...F @skip(if: true)
      ... on Item @c { id }
    }
    item(input: { x: 1, list: null }) { id }
  }
  fragment F on Node @e { id }`);

describe('private parts of graphql', () => {
  it('`QueryDocumentKeys`, by which `visit` walks, and what its visitor gets', () => {
    const record =
      (seen: string[]): ValidationRule =>
      () => {
        const note =
          (event: string) =>
          (
            node: ASTNode,
            _key: unknown,
            parent: ASTNode | readonly ASTNode[] | undefined,
            _path: unknown,
            ancestors: readonly (ASTNode | readonly ASTNode[])[],
          ): void => {
            const kindOf = (one: typeof parent): string => (one && 'kind' in one ? one.kind : 'list');
            seen.push(
              `${event} ${node.kind} ${node.loc?.start} in ${kindOf(parent)} below ${ancestors.map(kindOf).join('.')}`,
            );
          };
        return { enter: note('enter'), leave: note('leave') };
      };
    const [theirs, ours]: [string[], string[]] = [[], []];
    validate(schema, DOCUMENT, [record(theirs)]);
    const steps = validateInSteps(schema, DOCUMENT, [record(ours)], 10);
    while (steps.next().done !== true);
    const at = theirs.findIndex((line, index) => line !== ours[index]);
    must(
      at < 0 && theirs.length === ours.length,
      `visit no longer walks as validateInSteps does, but comes to "${theirs[at] ?? ''}" where that comes to "${ours[at] ?? ''}"`,
    );
  });

  it('`ValidationContext`: `getVariableUsages`', () => {
    const usedIn: string[] = [];
    class Watched extends ValidationContext {
      override getVariableUsages(...given: Parameters<ValidationContext['getVariableUsages']>) {
        usedIn.push(given[0].kind);
        return super.getVariableUsages(...given);
      }
    }
    const context = new Watched(schema, DOCUMENT, new TypeInfo(schema), () => undefined);
    const [usage] = context.getRecursiveVariableUsages(DOCUMENT.definitions[0] as OperationDefinitionNode);
    must(
      usedIn.sort().join() === 'FragmentDefinition,OperationDefinition',
      'getRecursiveVariableUsages no longer calls getVariableUsages for an operation and each of its fragments',
    );
    const names = Object.keys(usage ?? {}).sort();
    must(
      names.join() === 'defaultValue,node,parentType,type',
      `a variable's usage now has ${names.join(', ')}: validateInSteps.ts makes them itself`,
    );
  });

  it('messages `… tokens. Parsing aborted.`, `Variable "$…" got invalid value … at "…"; …`', () => {
    const messageOf = (work: () => unknown): string => {
      try {
        work();
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    const ofParser = messageOf(() => parse('{ a b c }', { maxTokens: 2 }));
    must(
      ofParser.includes('tokens. Parsing aborted'),
      `what parse says of too many tokens has changed: ${ofParser}`,
    );
    const result = execute({
      schema,
      document: parse('query ($input: In!) { item(input: $input) { id } }'),
      variableValues: { input: { x: 'one' } },
    }) as { readonly errors?: readonly Error[] };
    const ofVariable = result.errors?.[0]?.message ?? '';
    must(
      /^Variable "\$input" .* at "input\.x"; (.*)$/s.test(ofVariable),
      `what execute says of a wrong variable has changed: ${ofVariable}`,
    );
  });
});
