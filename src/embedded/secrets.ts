import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyRing } from '../secrets.js';
import { ensureDataFolder } from './dataFolder.js';

export interface EmbeddedSecrets {
  readonly keyRing: KeyRing;
  readonly pxadminPassword: string;
  /** True at the start that made the password: the one time to print it. */
  readonly pxadminPasswordIsNew: boolean;
  /** The file that holds the password, to tell where it can be looked up. */
  readonly pxadminPasswordFile: string;
}

/**
 * SECRET_KEYS and PXADMIN_PASSWORD of an installation that was given none: made at the first start, kept in files of
 * mode 600 in `dataDir`. For the embedded mode only.
 */
export async function embeddedSecrets(dataDir: string): Promise<EmbeddedSecrets> {
  await ensureDataFolder(dataDir);
  const keys = await readOrMake(path.join(dataDir, 'secret-keys'), () => KeyRing.generateEntry('k1'));
  const passwordFile = path.join(dataDir, 'pxadmin-password');
  const password = await readOrMake(passwordFile, () => randomBytes(15).toString('base64url'));
  return {
    keyRing: KeyRing.parse(keys.text),
    pxadminPassword: password.text,
    pxadminPasswordIsNew: password.isNew,
    pxadminPasswordFile: passwordFile,
  };
}

/** The file appears with its whole content, and of two processes that make it at once, both read the same. */
async function readOrMake(file: string, make: () => string): Promise<{ text: string; isNew: boolean }> {
  const existing = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  if (existing !== undefined) return { text: existing.trim(), isNew: false };

  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${make()}\n`, { mode: 0o600 });
  let isNew = true;
  await link(draft, file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    isNew = false;
  });
  await rm(draft);
  return { text: (await readFile(file, 'utf8')).trim(), isNew };
}
