import { once } from 'node:events';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Credentials } from './certificates.js';

/** A GET of JSON from etcd or Patroni on this machine, each of which has a certificate for it. Throws what breaks. */
export async function queryServer(
  port: number,
  route: string,
  credentials: Credentials,
  timeoutMs: number,
): Promise<{ readonly ok: boolean; readonly body: unknown }> {
  const signal = AbortSignal.timeout(timeoutMs);
  const asked = request({ host: '127.0.0.1', port, path: route, agent: false, signal, ...credentials }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { ok: response.statusCode === 200, body: JSON.parse(Buffer.concat(parts).toString()) as unknown };
}
