// npm run demo: installs and builds what is missing, then shows the whole service at work (--once: and ends).
import { spawn } from 'node:child_process';
import path from 'node:path';
import { prepareProject, projectDir } from './project.mjs';

await prepareProject();
console.log('starting PostgreSQL, the API, the relay and a worker');
const demo = spawn(
  process.execPath,
  [path.join(projectDir, 'dist/main.js'), 'demo', ...process.argv.slice(2)],
  {
    cwd: projectDir,
    stdio: 'inherit',
  },
);
// The demo stops in order, and we wait for it. A terminal sends Ctrl-C to both of us; other signals come to us alone.
process.on('SIGTERM', () => demo.kill('SIGTERM'));
process.on('SIGINT', () => {
  if (!process.stdin.isTTY) demo.kill('SIGINT');
});
demo.once('exit', (status) => process.exit(status ?? 1));
