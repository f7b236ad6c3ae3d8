import { getIntrospectionQuery, graphqlSync, printSchema, type GraphQLSchema } from 'graphql';
import type { Catalog } from '../../db/catalog/catalog.js';
import { buildDataSchema } from './dataSchema.js';

/** A tenant's catalog with what is made from it, once. */
export interface TenantSchema {
  readonly catalog: Catalog;
  readonly schema: GraphQLSchema;
  /** SDL and introspection JSON, made at the first call. */
  readonly describe: () => SchemaDescription;
}

export interface SchemaDescription {
  readonly sdl: string;
  /** `{"__schema": …}` */
  readonly introspectionJson: string;
}

/** Made for a catalog when first asked for; goes with it. */
export class TenantSchemas {
  readonly #schemas = new WeakMap<Catalog, TenantSchema>();

  of(catalog: Catalog): TenantSchema {
    const known = this.#schemas.get(catalog);
    if (known) return known;
    const schema = buildDataSchema(catalog);
    let description: SchemaDescription | undefined;
    const made = { catalog, schema, describe: () => (description ??= describeSchema(schema)) };
    this.#schemas.set(catalog, made);
    return made;
  }
}

function describeSchema(schema: GraphQLSchema): SchemaDescription {
  const { data } = graphqlSync({ schema, source: getIntrospectionQuery() });
  return { sdl: printSchema(schema), introspectionJson: JSON.stringify(data) };
}
