// PostGraphile 5 on the same tables, as its documentation sets it up for production: no GraphiQL, no watching.
// Arguments: <database url> <schema> <pool size>. Prints its port.
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

const [url = '', schema = '', poolSize = '16'] = process.argv.slice(2);
const connection = new URL(url);
connection.searchParams.set('options', '-c jit=off');
const pgl = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: connection.href,
      schemas: [schema],
      poolConfig: { max: Number(poolSize) },
    }),
  ],
  grafserv: { graphqlPath: '/', graphiql: false, graphiqlOnGraphQLGET: false, watch: false, websockets: false },
});
const server = createServer();
await pgl.createServ(grafserv).addTo(server);
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
