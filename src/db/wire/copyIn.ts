import pg from 'pg';
import type { SqlText } from '../sql/sql.js';

interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

const PgQuery = pg.Query as unknown as new (config: { text: string }, callback: Callback) => object;
type Callback = (error: Error | null) => void;

/** To pg it is one of its queries, which would refuse to send data. */
class CopyIn extends PgQuery {
  constructor(
    text: SqlText,
    private readonly data: string,
    callback: Callback,
  ) {
    super({ text }, callback);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(Buffer.from(this.data));
    connection.endCopyFrom();
  }
}

/** Runs `copy … from stdin` with the data. Throws what pg throws. */
export function copyIn(client: pg.ClientBase, text: SqlText, data: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new CopyIn(text, data, (error) => {
      if (error) reject(error);
      else resolve();
    });
    // eslint-disable-next-line rowpost/static-sql -- its text is an SqlText
    client.query(query as unknown as pg.Submittable);
  });
}
