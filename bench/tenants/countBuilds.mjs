// Loaded into the web process: counts how often a schema is read and built. SIGUSR2 writes the counts and starts anew.
import { openWatchedPool } from '../../dist/db/pool/servicePool.js';
import { TenantSchemas } from '../../dist/graphql/schema/tenantSchema.js';

let introspections = 0;
let schemas = new Set();

// Of the program's own copy of pg.
const { prototype: pool } = openWatchedPool({ config: {} }, {}).constructor;
const { query } = pool;
pool.query = function counted(...args) {
  const text = typeof args[0] === 'string' ? args[0] : args[0]?.text;
  if (text?.includes("'foreignKeys'")) introspections += 1;
  return query.apply(this, args);
};

const { of } = TenantSchemas.prototype;
TenantSchemas.prototype.of = function counted(catalog) {
  const made = of.call(this, catalog);
  schemas.add(made.schema);
  return made;
};

process.on('SIGUSR2', () => {
  process.stderr.write(`counted ${JSON.stringify({ introspections, schemas: schemas.size })}\n`);
  introspections = 0;
  schemas = new Set();
});
