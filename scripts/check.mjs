// npm run check: every static check, side by side; the output of each is printed when it ends.
import { spawn } from 'node:child_process';
import { projectDir } from './project.mjs';

const CHECKS = ['types', 'lint', 'format', 'boundaries', 'unused', 'words'];

const failed = (await Promise.all(CHECKS.map(run))).filter((name) => name !== undefined);
if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);

/** @returns the name of a check that failed */
async function run(name) {
  const child = spawn('npm', ['run', '--silent', `check:${name}`], { cwd: projectDir });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const status = await new Promise((resolve) => {
    child.once('error', (error) => {
      output += `${error.message}\n`;
      resolve(1);
    });
    child.once('close', (code) => resolve(code ?? 1)); // null after a signal
  });
  console.log(`${status === 0 ? '✔' : '✖'} check:${name}\n${output.trim()}`);
  return status === 0 ? undefined : name;
}
