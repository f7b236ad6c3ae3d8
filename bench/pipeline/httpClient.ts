import http from 'node:http';
import { nowMs } from './numbers.js';

/** Sends JSON over keep-alive connections, as cheaply as Node.js can. */
export interface HttpClient {
  /** Rejects when the response is not 2xx or names errors. */
  post(body: string): Promise<Answered>;
  close(): void;
}

export interface Answered {
  readonly body: string;
  /** When its last byte was there. */
  readonly atMs: number;
}

export function createHttpClient(url: string, token: string, connections: number): HttpClient {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  return {
    post: (body) =>
      new Promise((resolve, reject) => {
        const length = { 'content-length': Buffer.byteLength(body) };
        const request = http.request(url, { method: 'POST', agent, headers: { ...headers, ...length } });
        request.once('error', reject);
        request.once('response', (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.once('error', reject);
          response.once('end', () => {
            const atMs = nowMs();
            const text = Buffer.concat(parts).toString('utf8');
            if (response.statusCode !== 200 || text.includes('"errors"')) {
              reject(new Error(`${url} responded ${String(response.statusCode)}: ${text.slice(0, 500)}`));
            } else resolve({ body: text, atMs });
          });
        });
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}
