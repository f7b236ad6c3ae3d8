import { spawn } from 'node:child_process';
import type { SystemUser } from './systemUser.js';

/** What the PostgreSQL programs see of our environment: nothing of it may change how they run. */
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
    // A program that ends without reading its input is judged by its exit status.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}
