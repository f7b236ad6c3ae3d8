import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const APT_GET = '/usr/bin/apt-get';
const HINT =
  'install Redis 7 so that redis-server is on the PATH (Debian: sudo apt-get install redis-server)';

/**
 * The redis-server program; as root on Debian it is installed when it is missing.
 * @returns {Promise<string>} its name or path
 */
export async function findRedisServer() {
  if (runs('redis-server')) return 'redis-server';
  if (process.getuid?.() !== 0 || !existsSync(APT_GET)) {
    throw new Error(`the tests need a real Redis: ${HINT}`);
  }
  console.error('redis-server is missing: installing it with apt-get');
  install('update');
  install('install', '-y', '--no-install-recommends', 'redis-server');
  if (!runs('redis-server')) throw new Error(`apt-get did not bring redis-server: ${HINT}`);
  return 'redis-server';
}

function runs(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** RUNLEVEL=1 keeps Debian from starting a Redis of the system's own, which the tests do not use. */
function install(...args) {
  const { status } = spawnSync(APT_GET, ['-qq', ...args], {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
  if (status !== 0) throw new Error(`apt-get ${args[0]} failed: ${HINT}`);
}
