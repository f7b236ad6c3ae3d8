import { spawn } from 'node:child_process';
import type { SystemUser } from './systemUser.js';

/** The environment of the PostgreSQL programs, restricted so that ours can't change their behavior. */
export const PROGRAM_ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export interface ProgramOptions {
  readonly user: SystemUser | undefined;
  /** A folder that the user can enter. */
  readonly cwd: string;
  readonly input?: string;
}

export interface ProgramOutcome {
  readonly ok: boolean;
  /** Standard output and error together, for a message. */
  readonly output: string;
}

/** Runs a program to its end. Does not throw: a program that can't be started has failed. */
export function runProgram(
  path: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramOutcome> {
  return new Promise((resolve) => {
    const child = spawn(path, args, {
      cwd: options.cwd,
      env: PROGRAM_ENV,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...options.user,
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const outputText = (): string => Buffer.concat(chunks).toString('utf8').trim();
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, output: outputText() }));
    // If a program exits without reading its input, only its exit status counts.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}
