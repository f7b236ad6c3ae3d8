import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyRing } from '../config/secrets.js';
import { ensureDataFolder } from './dataFolder.js';

export interface EmbeddedSecrets {
  readonly keyRing: KeyRing;
  readonly pxadminPassword: string;
  /** True only when the password was just generated, which is when to print it. */
  readonly pxadminPasswordIsNew: boolean;
  /** The file with the password, to tell users where to look it up. */
  readonly pxadminPasswordFile: string;
}

/**
 * SECRET_KEYS and PXADMIN_PASSWORD of an installation that has none configured: generated at the first start and kept in
 * files of mode 600 in `dataDir`. Only for embedded mode.
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

/** The file is created atomically; if two processes do so concurrently, both read the same content. */
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
