import type { Principal } from '../db/principal.js';
import { buildDataSchema } from '../graphql/schema/dataSchema.js';
import { introspectionFromSchema, printSchema } from 'graphql';
import type { SchemaDescription } from './auth/authBody.js';
import type { WebDeps } from './webDeps.js';

/** The `/query` schema sent on sign-in: the tenant's, or one without tables for the installation's own roles. */
export function describeFor(engine: WebDeps['engine']): (principal: Principal) => Promise<SchemaDescription> {
  const empty = describeEmpty();
  return (principal) => {
    const { tenantid, schema } = principal;
    return schema === null ? Promise.resolve(empty) : engine.describe(tenantid, schema, principal);
  };
}

function describeEmpty(): SchemaDescription {
  const schema = buildDataSchema({ version: '', schema: '', tables: new Map(), problems: [] });
  return {
    sdl: printSchema(schema),
    introspectionJson: JSON.stringify(introspectionFromSchema(schema)),
  };
}
