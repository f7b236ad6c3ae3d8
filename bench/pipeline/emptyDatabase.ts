import pg from 'pg';
import type { BenchInstallation } from '../support/installation.js';

/** An empty database for a peer, on the same server. @returns its URL */
export async function makeEmptyDatabase(
  { databaseUrl }: Pick<BenchInstallation, 'databaseUrl'>,
  peer: string,
): Promise<string> {
  const name = `bare_${peer.replace(/\W/g, '_').toLowerCase()}`;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`drop database if exists ${name} with (force)`);
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}
