import type { IncomingMessage } from 'node:http';

/** Headers added by proxies and tunnels: a request with one of these came from elsewhere. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-ip|x-client-ip|x-original-.+|true-client-ip|cf-.+)$/;

/** Whether a proxy or tunnel passed the request on. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) => FORWARDED.test(name));
}
