import {
  getArgumentValues,
  isListType,
  isNonNullType,
  isObjectType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
} from 'graphql';
import { responseTooLarge } from '../db/pool/responseBudget.js';
import { ownValue } from '../foundation/ownValue.js';
import { collectFields } from './read/collectFields.js';
import type { Steps } from './steps.js';

export interface Introspection {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Maximum length of the result, in characters. */
  readonly maxCharacters: number;
}

type Field = GraphQLField<unknown, unknown>;

/** A field of one selection set: the same for every object that the selection set applies to. */
interface Selected {
  /** The response key and its colon. */
  readonly prefix: string;
  /** Undefined for `__typename`. */
  readonly field: Field | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly nodes: readonly FieldNode[];
}

/** Fields per step: about a millisecond. */
const FIELDS_PER_STEP = 1_000;

const ROOTS: ReadonlyMap<string, Field> = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);

/**
 * Resolves `__schema` or `__type` to JSON text. The result grows with the document's selections times the size of the
 * schema, and `execute` of graphql-js would build it uninterrupted and unbounded. Throws AppError DOCUMENT_TOO_COMPLEX.
 * @param nodes the field nodes of one response key
 */
export function* introspect(introspection: Introspection, nodes: readonly FieldNode[]): Steps<string> {
  yield;
  const [node] = nodes;
  const field = node && ROOTS.get(node.name.value);
  if (!field) throw new Error('only __schema and __type are introspected');
  const writer = new Writer(introspection);
  return yield* writer.field({ ...selected(introspection, '', field, nodes), prefix: '' }, undefined);
}

function selected(
  { variables }: Introspection,
  key: string,
  field: Field | undefined,
  nodes: readonly FieldNode[],
): Selected {
  const [node] = nodes;
  const args = field && node ? getArgumentValues(field, node, variables) : {};
  return { prefix: `${JSON.stringify(key)}:`, field, args, nodes };
}

class Writer {
  readonly #selections = new Map<readonly FieldNode[], readonly Selected[]>();
  readonly #info: GraphQLResolveInfo;
  #characters = 0;
  #fieldsSinceStep = 0;

  constructor(private readonly introspection: Introspection) {
    // Introspection resolvers use nothing else.
    this.#info = { schema: introspection.schema } as GraphQLResolveInfo;
  }

  *field({ prefix, field, args, nodes }: Selected, source: unknown): Steps<string> {
    const value: unknown = field?.resolve?.(source, args, undefined, this.#info);
    return prefix + (yield* this.#value(field?.type, nodes, value));
  }

  *#value(type: unknown, nodes: readonly FieldNode[], value: unknown): Steps<string> {
    if (value == null) return 'null';
    const nullable: unknown = isNonNullType(type) ? type.ofType : type;
    if (isListType(nullable)) {
      const items: string[] = [];
      for (const item of value as Iterable<unknown>)
        items.push(yield* this.#value(nullable.ofType, nodes, item));
      return `[${items.join(',')}]`;
    }
    return isObjectType(nullable) ? yield* this.#object(nullable, nodes, value) : this.#leaf(value);
  }

  *#object(type: GraphQLObjectType, nodes: readonly FieldNode[], source: unknown): Steps<string> {
    const selections = this.#selectionOf(type, nodes);
    this.#fieldsSinceStep += selections.length;
    if (this.#fieldsSinceStep > FIELDS_PER_STEP) {
      this.#fieldsSinceStep = 0;
      yield;
    }
    const members: string[] = [];
    for (const selection of selections) {
      this.#counted(selection.prefix);
      // Most fields are leaves, which need no generator: a quarter off the time of the whole introspection.
      const { field, prefix, args } = selection;
      if (!field) members.push(prefix + JSON.stringify(type.name));
      else if (selection.nodes[0]?.selectionSet) members.push(yield* this.field(selection, source));
      else members.push(prefix + this.#leaf(field.resolve?.(source, args, undefined, this.#info)));
    }
    return `{${members.join(',')}}`;
  }

  /** A text, a boolean, or a list of texts; enums are held as their names. */
  #leaf(value: unknown): string {
    return value == null ? 'null' : this.#counted(JSON.stringify(value));
  }

  #selectionOf(type: GraphQLObjectType, nodes: readonly FieldNode[]): readonly Selected[] {
    const known = this.#selections.get(nodes);
    if (known) return known;
    const fields = type.getFields();
    const made = Array.from(collectFields(this.introspection, type.name, nodes), ([key, of]) =>
      selected(this.introspection, key, ownValue(fields, of[0].name.value), of),
    );
    this.#selections.set(nodes, made);
    return made;
  }

  #counted(text: string): string {
    this.#characters += text.length + 1;
    if (this.#characters <= this.introspection.maxCharacters) return text;
    throw responseTooLarge();
  }
}
