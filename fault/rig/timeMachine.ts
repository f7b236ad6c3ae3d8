import { execFile } from 'node:child_process';
import { chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** A backup of PostgreSQL's files. */
export interface Backup {
  readonly folder: string;
  /** When PostgreSQL had stopped: nothing later is included. */
  readonly takenAtMs: number;
}

/** PostgreSQL has lost this period: after `fromMs` it continued with what happened after `toMs`. */
export interface LostTime {
  readonly fromMs: number;
  readonly toMs: number;
  /** When everything that survived had been sent, and all processes ran; set by the code that waits for it. */
  recoveredAtMs?: number;
}

export interface TimeMachine {
  readonly lostTimes: readonly LostTime[];
  /** Told each time. */
  readonly listeners: (() => void)[];
  backUp(): Promise<Backup>;
  /** Restores the backup: the same timeline again. */
  restore(backup: Backup): Promise<LostTime>;
  /**
   * The state of an asynchronous standby made from the backup, lagging by `behindMs` when the primary was lost, and then
   * promoted: a new timeline.
   */
  promote(backup: Backup, behindMs: number): Promise<LostTime>;
}

/** Settings that it needs of the server. */
export const TIME_MACHINE_SETTINGS = ['wal_level=replica', 'wal_keep_size=2GB'];

const run = promisify(execFile);

/** @param dataDir of the embedded PostgreSQL */
export function createTimeMachine(
  dataDir: string,
  postgres: { crash(): Promise<void>; start(): Promise<void> },
): TimeMachine {
  const lostTimes: LostTime[] = [];
  const listeners: (() => void)[] = [];
  const homeOf = (): Promise<string> => realpath(path.join(dataDir, 'postgres'));

  const goBack = async (change: (home: string) => Promise<number>): Promise<LostTime> => {
    const home = await homeOf();
    await postgres.crash();
    const fromMs = await change(home);
    // Before the start is reported, processes reconnect and send, and the witness looks.
    const lost: LostTime = { fromMs, toMs: Date.now() };
    lostTimes.push(lost);
    await postgres.start();
    for (const listener of listeners) listener();
    return lost;
  };
  const replaceData = async (home: string, { folder }: Backup): Promise<void> => {
    await rm(path.join(home, 'data'), { recursive: true });
    await rename(folder, path.join(home, 'data'));
  };

  return {
    lostTimes,
    listeners,
    async backUp() {
      const home = await homeOf();
      const folder = path.join(home, 'backup');
      await rm(folder, { recursive: true, force: true });
      await postgres.crash();
      const takenAtMs = Date.now();
      await run('cp', ['-a', path.join(home, 'data'), folder]);
      await postgres.start();
      return { folder, takenAtMs };
    },
    restore: (backup) =>
      goBack(async (home) => {
        await replaceData(home, backup);
        return backup.takenAtMs;
      }),
    promote: (backup, behindMs) => {
      const untilMs = Math.max(Date.now() - behindMs, backup.takenAtMs + 1);
      return goBack(async (home) => {
        const archive = path.join(home, 'archive');
        await rm(archive, { recursive: true, force: true });
        await rename(path.join(home, 'data', 'pg_wal'), archive);
        await replaceData(home, backup);
        await recoverUntil(path.join(home, 'data'), archive, untilMs);
        return untilMs;
      });
    },
  };
}

async function recoverUntil(data: string, archive: string, untilMs: number): Promise<void> {
  const { uid, gid } = await stat(data);
  const files = {
    'recovery.signal': '',
    'postgresql.auto.conf': [
      `restore_command = 'cp "${archive}/%f" "%p"'`,
      `recovery_target_time = '${new Date(untilMs).toISOString().replace('T', ' ').replace('Z', '+00')}'`,
      `recovery_target_action = 'promote'`,
      '',
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(path.join(data, name), text, { mode: 0o600 });
    await chown(path.join(data, name), uid, gid);
  }
}

/** Whether PostgreSQL has lost that moment. */
export function isLost(lostTimes: readonly LostTime[], atMs: number): boolean {
  return lostTimes.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs);
}
