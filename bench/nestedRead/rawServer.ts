// The floor: the SQL that Rowpost sends, sent by pg alone and answered by plain node:http. No token, no policy, no
// tenant role, no GraphQL. Arguments: <database url> <file with the SQL> <pool size>. Prints its port.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

const [url = '', sqlFile = '', poolSize = '16'] = process.argv.slice(2);
const { text, values } = JSON.parse(readFileSync(sqlFile, 'utf8')) as { text: string; values: unknown[] };
const pool = new pg.Pool({ connectionString: url, max: Number(poolSize), options: '-c jit=off' });

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    pool.query<[string]>({ text, values, rowMode: 'array', name: 'nested' }).then(
      ({ rows }) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"data":{"customer":${rows[0]?.[0] ?? 'null'}}}`);
      },
      (error: unknown) => {
        response.writeHead(500).end(String(error));
      },
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
