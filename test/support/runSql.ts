import pg from 'pg';

/** Runs statements that belong to no transaction, such as CREATE DATABASE, on a connection of their own. */
export async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
