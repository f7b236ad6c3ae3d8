import { chmod, mkdir } from 'node:fs/promises';
import { UsageError } from '../errors.js';

/**
 * Makes Rowpost's own folder, if it isn't there. As root it may be passed through by PostgreSQL's account;
 * what is secret inside has mode 600. The mode of a folder that exists is left alone.
 */
export async function ensureDataFolder(folder: string): Promise<void> {
  await makeFolder(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
}

/** Like mkdir -p, with this mode for the folder whatever the umask. Throws an Error that says what to do. */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  try {
    const created = await mkdir(folder, { recursive: true });
    if (created !== undefined) await chmod(folder, mode);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new UsageError(`can't make the folder ${folder} (${code}); choose another with ROWPOST_DATA_DIR`);
  }
}
