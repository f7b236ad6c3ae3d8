import type { Principal } from '../db/principal.js';
import type { SchemaDescription } from './auth/authBody.js';
import type { WebDeps } from './server.js';

/** The installation's root has no tables: its /query is empty. */
const NO_TABLES: SchemaDescription = { sdl: '', introspectionJson: 'null' };

export function describeFor(engine: WebDeps['engine']): (principal: Principal) => Promise<SchemaDescription> {
  return (principal) =>
    principal.schema === null
      ? Promise.resolve(NO_TABLES)
      : engine.describe(principal.tenantid, principal.schema);
}
