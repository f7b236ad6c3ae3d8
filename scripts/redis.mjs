import { spawnSync } from 'node:child_process';
import { canInstall, install } from './debianPackages.mjs';

const HINT =
  'install Redis 7 so that redis-server is on the PATH (Debian: sudo apt-get install redis-server)';

/**
 * The redis-server program; as root on Debian it is installed when it is missing.
 * @returns {Promise<string>} its name or path
 */
export async function findRedisServer() {
  if (runs('redis-server')) return 'redis-server';
  if (!canInstall()) throw new Error(`the tests need a real Redis: ${HINT}`);
  install(['redis-server']);
  if (!runs('redis-server')) throw new Error(`apt-get did not bring redis-server: ${HINT}`);
  return 'redis-server';
}

function runs(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}
