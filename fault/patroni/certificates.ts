import { execFile } from 'node:child_process';
import { chown, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { SystemUser } from '../../src/embedded/systemUser.js';
import { CERTIFICATES } from './settings.js';

const SCRIPT = path.resolve(import.meta.dirname, '../../deploy/patroni/certificates.sh');

/** What a client of etcd and of Patroni shows and checks. */
export interface Credentials {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Certificates of all servers, below `folder`, for programs of the user. @returns those of the first server */
export async function makeCertificates(
  folder: string,
  servers: readonly string[],
  user: SystemUser | undefined,
): Promise<Credentials> {
  const place = path.join(folder, CERTIFICATES);
  await promisify(execFile)('sh', [SCRIPT, place, ...servers]);
  if (user) {
    for (const name of ['.', ...(await readdir(place))]) {
      await chown(path.join(place, name), user.uid, user.gid);
    }
  }
  const [first = ''] = servers;
  const read = (name: string): Promise<Buffer> => readFile(path.join(place, name));
  return { ca: await read('ca.crt'), cert: await read(`${first}.crt`), key: await read(`${first}.key`) };
}
