import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError } from '../foundation/errors.js';
import { ArgumentError } from './command.js';

/** The first line of stdin. Not an argument, which every process on the machine can read, and not echoed on a terminal. */
export async function readPassword(prompt: string): Promise<string> {
  const isTerminal = process.stdin.isTTY;
  if (isTerminal) process.stderr.write(`${prompt}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal });
  try {
    for await (const line of lines) {
      if (line !== '') return line;
      break;
    }
    throw new ArgumentError('the first line of stdin must be the password');
  } finally {
    lines.close();
    if (isTerminal) process.stderr.write('\n');
  }
}

/** The options that give the password of a tenant's root role. */
export const ROOT_PASSWORD_OPTIONS = ['root-password', 'root-password-file'] as const;

/**
 * The password of a tenant's root role: from a file, from stdin, which is the file `-`, or from the argument. Throws
 * ArgumentError, UsageError.
 */
export async function readRootPassword(options: {
  readonly 'root-password'?: string;
  readonly 'root-password-file'?: string;
}): Promise<string> {
  const { 'root-password': argument, 'root-password-file': file } = options;
  if (argument !== undefined && file !== undefined) {
    throw new ArgumentError('--root-password and --root-password-file exclude each other');
  }
  if (file === '-') return readPassword('Password of the root role');
  if (file !== undefined) return firstLine(file);
  if (argument === undefined || argument === '') throw new ArgumentError('--root-password-file is required');
  process.stderr.write(
    'rowpost: every process on this machine can read --root-password; use --root-password-file <file>, or - for stdin\n',
  );
  return argument;
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`can't read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
  });
  const [line = ''] = text.split(/\r?\n/, 1);
  if (line === '') throw new UsageError(`the first line of ${file} must be the password`);
  return line;
}
