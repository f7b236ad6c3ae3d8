import { spawnSync } from 'node:child_process';
import { canInstall, install } from '../../scripts/debianPackages.mjs';

/** By the Debian package that brings it. PostgreSQL is where deploy/patroni/patroni.yml says. */
const PROGRAMS = {
  patroni: 'patroni',
  'python3-etcd': undefined,
  'etcd-server': 'etcd',
  haproxy: 'haproxy',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
} as const;

/** Installs what is missing, as root on Debian. */
export function requirePatroni(): void {
  const missing = (): readonly string[] =>
    Object.entries(PROGRAMS).flatMap(([name, program]) => (program && !exists(program) ? [name] : []));
  if (missing().length === 0) return;
  if (!canInstall()) throw new Error(`Patroni's cluster needs the Debian packages ${missing().join(', ')}`);
  install(Object.keys(PROGRAMS));
  if (missing().length > 0) throw new Error(`apt-get did not bring ${missing().join(', ')}`);
}

/** Some of them know no --version, and say so. */
function exists(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}
