import { getIntrospectionQuery, Kind, parse, printSchema, type GraphQLSchema } from 'graphql';
import type { Catalog } from '../../db/catalog/catalog.js';
import { introspect } from '../introspect.js';
import { fragmentsOf } from '../document/rootFields.js';
import type { Steps } from '../steps.js';
import { buildDataSchema } from './dataSchema.js';

/** A tenant's catalog and what is derived from it. */
export interface TenantSchema {
  readonly catalog: Catalog;
  readonly schema: GraphQLSchema;
  /** SDL and introspection JSON, generated once. */
  readonly describe: () => Steps<SchemaDescription>;
}

export interface SchemaDescription {
  readonly sdl: string;
  /** `{"__schema": …}` */
  readonly introspectionJson: string;
}

/** Built lazily per catalog, and discarded with it. */
export class TenantSchemas {
  readonly #schemas = new WeakMap<Catalog, TenantSchema>();

  of(catalog: Catalog): TenantSchema {
    const known = this.#schemas.get(catalog);
    if (known) return known;
    const schema = buildDataSchema(catalog);
    let description: SchemaDescription | undefined;
    function* describe(): Steps<SchemaDescription> {
      return (description ??= yield* describeSchema(schema));
    }
    const made = { catalog, schema, describe };
    this.#schemas.set(catalog, made);
    return made;
  }
}

const INTROSPECTION = parse(getIntrospectionQuery());

function* describeSchema(schema: GraphQLSchema): Steps<SchemaDescription> {
  const fragments = fragmentsOf(INTROSPECTION);
  const nodes = INTROSPECTION.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? node.selectionSet.selections : [],
  );
  const roots = nodes.filter((node) => node.kind === Kind.FIELD);
  const json = yield* introspect({ schema, fragments, variables: {}, maxCharacters: Infinity }, roots);
  yield;
  return { sdl: printSchema(schema), introspectionJson: `{"__schema":${json}}` };
}
