import { access, chmod, constants, mkdir } from 'node:fs/promises';
import { UsageError } from '../foundation/errors.js';

/**
 * Creates Rowpost's own folder if it doesn't exist. As root, PostgreSQL's account may traverse it; secrets in it have mode
 * 600.
 * @throws UsageError if it can't be created, or belongs to someone else
 */
export async function ensureDataFolder(folder: string): Promise<void> {
  await makeFolder(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => {
    throw new UsageError(
      `the folder ${folder} belongs to another account; start Rowpost as that one, or choose another folder with ROWPOST_DATA_DIR`,
    );
  });
}

/** Like mkdir -p, with the given mode for the folder whatever the umask. Throws a UsageError that says what to do. */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  try {
    const created = await mkdir(folder, { recursive: true });
    if (created !== undefined) await chmod(folder, mode);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new UsageError(`can't make the folder ${folder} (${code}); choose another with ROWPOST_DATA_DIR`);
  }
}
