// What the scripts share: the project's folder, its dependencies, its build.
import { spawn, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';

export const projectDir = fileURLToPath(new URL('..', import.meta.url));

const OLDEST_NODE = [20, 19];
const HEARTBEAT_MS = 5_000;

const BUILD = path.join(projectDir, 'scripts/build.mjs');

/** Installs and builds as far as it is needed; ends the process with one clear line when that fails. */
export async function prepareProject() {
  await prepareDependencies();
  if (runNode([BUILD]) !== 0) fail('the build failed');
}

/** Installs what is missing; ends the process with one clear line when that fails. */
export async function prepareDependencies() {
  requireNode();
  if (dependenciesAreOld()) await installDependencies();
}

/** For what can be done while the build runs. */
export async function build() {
  if ((await startNode([BUILD])) !== 0) fail('the build failed');
}

/** Like runNode, beside other work. @returns {Promise<number>} its exit status */
export function startNode(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: projectDir,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1)); // null after a signal
  });
}

/** Runs Node.js in the project's folder with our own terminal. @returns {number} its exit status */
export function runNode(args, env = {}) {
  const { status } = spawnSync(process.execPath, args, {
    cwd: projectDir,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1; // null after a signal
}

export function fail(message) {
  console.error(`rowpost: ${message}`);
  process.exit(1);
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    fail(`Node.js ${OLDEST_NODE.join('.')} or newer is needed; this is ${process.version}`);
  }
}

function dependenciesAreOld() {
  const changed = (file) => statSync(path.join(projectDir, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return changed('node_modules/.package-lock.json') < changed('package-lock.json');
}

/** npm is silent without a terminal, so that the wait gets a sign of life of its own. */
async function installDependencies() {
  console.log('installing dependencies (npm ci), which takes about half a minute the first time');
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const heartbeat = process.stdout.isTTY
    ? undefined
    : setInterval(() => console.log(`  … ${seconds()} s`), HEARTBEAT_MS);
  // Under `npm run`, npm says where it is; the tools to build with are development dependencies.
  const npm = process.env.npm_execpath;
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  const child =
    npm === undefined
      ? spawn('npm', args, { cwd: projectDir, stdio: 'inherit' })
      : spawn(process.execPath, [npm, ...args], { cwd: projectDir, stdio: 'inherit' });
  const status = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', resolve);
  });
  clearInterval(heartbeat);
  if (status !== 0) fail('npm ci failed; its own message is above');
  console.log(`installed dependencies in ${seconds()} s`);
}
