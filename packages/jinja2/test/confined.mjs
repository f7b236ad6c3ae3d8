// What a render process may not do: prints the code of each refusal.
import { readFileSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { Worker } from 'node:worker_threads';

const tries = {
  read: () => readFileSync('/etc/hostname'),
  environment: () => readFileSync('/proc/1/environ'),
  write: () => writeFileSync('/tmp/confined', ''),
  run: () => execFileSync(process.execPath, ['--version']),
  thread: () => new Worker('', { eval: true }),
};
for (const [name, run] of Object.entries(tries)) {
  try {
    run();
    console.log(name, 'done');
  } catch (error) {
    console.log(name, error.code);
  }
}
