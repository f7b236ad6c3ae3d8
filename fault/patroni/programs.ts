import { spawnSync } from 'node:child_process';
import { canInstall, install } from '../../scripts/debianPackages.mjs';

/** By the Debian package that brings it. PostgreSQL is where deploy/patroni/patroni.yml says. */
const PROGRAMS = {
  patroni: 'patroni',
  'etcd-server': 'etcd',
  haproxy: 'haproxy',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
} as const;
/** Through which Patroni talks to etcd; the second for TLS. */
const CLIENT = ['python3-etcd', 'python3-idna'];

/** Installs what is missing, as root on Debian. */
export function requirePatroni(): void {
  if (missingPackages().length === 0) return;
  if (!canInstall())
    throw new Error(`Patroni's cluster needs the Debian packages ${missingPackages().join(', ')}`);
  install([...Object.keys(PROGRAMS), ...CLIENT]);
  if (missingPackages().length > 0) throw new Error(`apt-get did not bring ${missingPackages().join(', ')}`);
}

function missingPackages(): readonly string[] {
  return Object.entries(PROGRAMS).flatMap(([name, program]) => (exists(program) ? [] : [name]));
}

/** Some of them know no --version, and say so. */
function exists(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}
