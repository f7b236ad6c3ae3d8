import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const APT_GET = '/usr/bin/apt-get';

/** Whether missing programs can be installed: as root on Debian. */
export function canInstall() {
  return process.getuid?.() === 0 && existsSync(APT_GET);
}

/**
 * RUNLEVEL=1 keeps Debian from starting services of the system's own, which tests and drills do not use.
 * @param {readonly string[]} packages
 */
export function install(packages) {
  console.error(`installing ${packages.join(', ')} with apt-get`);
  apt('update');
  apt('install', '-y', '--no-install-recommends', ...packages);
}

function apt(...args) {
  const { status } = spawnSync(APT_GET, ['-qq', ...args], {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed`);
}
