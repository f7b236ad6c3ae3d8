import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { openKnex } from '../../../src/db/pool/openKnex.js';
import { findFreePort } from '../../../src/embedded/freePort.js';

describe('knex', () => {
  it('logs nothing for a connection that can’t be made: the caller gets the error', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const pool = new pg.Pool({ host: '127.0.0.1', port: await findFreePort() });
    const knex = openKnex(pool, log);
    const error: unknown = await knex.select(knex.raw('1')).catch((reason: unknown) => reason);
    expect((error as NodeJS.ErrnoException).code).to.equal('ECONNREFUSED');
    expect(lines).to.deep.equal([]);
    await knex.destroy();
    await pool.end();
  });
});
