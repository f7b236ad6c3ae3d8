import { execFile } from 'node:child_process';

/** Tokens are valid for a quarter of an hour, and each process opens a connection now and then. */
const MAX_AGE_MS = 30_000;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024;

/**
 * A short-lived password, such as a cloud's IAM token: the output of a command, requested by each new connection. The
 * command runs at most once per half minute. Rejects with an Error with code EPASSWORD, like a failed connection, that
 * reveals nothing of the output.
 */
export function passwordFromCommand(
  command: string,
  now: () => number = () => performance.now(),
): () => Promise<string> {
  let made: Promise<string> | undefined;
  let madeAtMs = -Infinity;
  return () => {
    if (made && now() - madeAtMs < MAX_AGE_MS) return made;
    madeAtMs = now();
    const making = run(command);
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
}

function run(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('/bin/sh', ['-c', command], { timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES }, (error, stdout) => {
      const password = stdout.replace(/\r?\n$/, '');
      if (!error && password !== '') {
        resolve(password);
        return;
      }
      const { code, killed } = error ?? {};
      const how = !error ? 'printed nothing' : killed === true ? 'took too long' : `failed (${String(code)})`;
      reject(Object.assign(new Error(`DATABASE_PASSWORD_COMMAND ${how}`), { code: 'EPASSWORD' }));
    });
  });
}
