import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import { parse } from 'yaml';
import { runDoctor } from '../../src/commands/doctor.js';
import { excessRights, missingRights } from '../../src/db/isolation/rights.js';
import { startSeparateCluster } from '../support/separateCluster.js';
import { testEnv } from '../support/testConfig.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

interface Service {
  readonly image: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
}

const { services, networks } = parse(read('deploy/compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
};

/** Images that don't run as root by themselves. */
const UNPRIVILEGED_IMAGES = ['rowpost', 'haproxy:2.8'];

describe('the deployment kit opens nothing that needs no password or certificate', () => {
  it('and has no password of its own', () => {
    const files = readdirSync(path.join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => statSync(path.join(ROOT, 'deploy', name)).isFile())) {
      const text = read(path.join('deploy', file));
      expect(text, file).not.to.match(/change-me|password: [^$'{"\s]/i);
    }
  });

  describe('Docker Compose', () => {
    for (const [name, service] of Object.entries(services)) {
      it(`runs ${name} without root, capabilities or a writable system`, () => {
        if (!UNPRIVILEGED_IMAGES.includes(service.image)) expect(service.user).to.match(/^(?!root)\w+$/);
        expect(service.cap_drop).to.deep.equal(['ALL']);
        expect(service.read_only).to.equal(true);
        expect(service.security_opt).to.deep.equal(['no-new-privileges:true']);
      });
    }

    it('connects as a role that is no superuser', () => {
      const superuser = services['postgres']!.environment!['POSTGRES_USER'];
      for (const name of ['release', 'web', 'relay', 'worker']) {
        const url = services[name]!.environment!['DATABASE_URL'] ?? '';
        expect(/^postgres:\/\/(\w+):/.exec(url)?.[1], name)
          .to.equal('rowpost')
          .and.not.to.equal(superuser);
      }
    });

    it('gives Redis a password, which no argument shows', () => {
      const { command = [], environment } = services['redis']!;
      expect(command.join(' ')).to.contain('requirepass %s').and.to.contain('"$$REDISCLI_AUTH"');
      expect(environment).to.deep.equal({ REDISCLI_AUTH: '${REDIS_PASSWORD:?}' });
      expect(services['worker']!.environment!['REDIS_URL']).to.equal(
        'redis://:${REDIS_PASSWORD:?}@redis:6379',
      );
    });

    it('publishes one port, of the proxy, on this machine', () => {
      const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
        ports.map((port) => [name, port]),
      );
      expect(published).to.deep.equal([['proxy', '${PUBLISH_ADDRESS:-127.0.0.1}:8080:8080']]);
    });

    it('lets only the processes reach PostgreSQL and Redis', () => {
      expect(networks['data']).to.deep.equal({ internal: true });
      const onData = Object.keys(services).filter((name) => services[name]!.networks.includes('data'));
      expect(onData).to.have.members(['postgres', 'redis', 'release', 'web', 'relay', 'worker']);
      for (const name of ['postgres', 'redis', 'release']) {
        expect(services[name]!.networks).to.deep.equal(['data']);
      }
      const onFront = Object.keys(services).filter((name) => services[name]!.networks.includes('front'));
      expect(onFront).to.have.members(['web', 'proxy']);
    });
  });

  if (spawnSync('psql', ['--version']).error === undefined) {
    it('makes a role with the rights that the service needs, and no more', async () => {
      const cluster = await startSeparateCluster();
      const rules = path.join(cluster.data, 'pg_hba.conf');
      await cluster.stop();
      writeFileSync(rules, `host all postgres 127.0.0.1/32 trust\n${readFileSync(rules, 'utf8')}`);
      await cluster.start();
      const { hostname, port } = new URL(cluster.superuserUrl);
      const superuser = new pg.Client({ connectionString: cluster.superuserUrl });
      await superuser.connect();
      await superuser.query('alter database rowpost rename to earlier');
      await superuser.query('alter role rowpost rename to earlier');
      const password = `it's "quoted"`;
      const script = spawnSync('sh', [path.join(ROOT, 'deploy/postgres/createRole.sh')], {
        env: {
          PATH: process.env['PATH'],
          PGHOST: hostname,
          PGPORT: port,
          POSTGRES_USER: 'postgres',
          ROWPOST_PASSWORD: password,
        },
        encoding: 'utf8',
      });
      expect([script.status, script.stderr]).to.deep.equal([0, '']);
      const connection = { host: hostname, port: Number(port), user: 'rowpost', password, max: 1 };
      const pool = new pg.Pool({ ...connection, database: 'rowpost' });
      try {
        expect(await missingRights(pool)).to.deep.equal([]);
        expect(await excessRights(pool)).to.deep.equal({ role: 'rowpost', rights: [] });
        const { rows } = await pool.query<Record<string, boolean>>(
          `select rolsuper or rolcreatedb or rolreplication or rolbypassrls as excess,
             has_database_privilege('postgres', 'connect') as elsewhere from pg_roles where rolname = current_user`,
        );
        expect(rows).to.deep.equal([{ excess: false, elsewhere: false }]);
        for (const [change, right] of [
          ['alter role rowpost replication', 'REPLICATION'],
          ['alter role rowpost bypassrls', 'BYPASSRLS'],
          ['grant pg_execute_server_program to rowpost', 'pg_execute_server_program'],
        ] as const) {
          await superuser.query(change);
          expect((await excessRights(pool)).rights, change).to.include(right);
        }
        await superuser.query('alter role rowpost superuser');
        const lines: string[] = [];
        const url = `postgres://rowpost:${encodeURIComponent(password)}@${hostname}:${port}/rowpost`;
        await runDoctor(testEnv({ DATABASE_URL: url }), (line) => lines.push(line));
        expect(lines.find((line) => line.includes('rights'))).to.match(/^✗ .*"rowpost" has SUPERUSER/);
        expect((await excessRights(pool)).rights).to.deep.equal(['SUPERUSER', 'BYPASSRLS', 'REPLICATION']);
      } finally {
        await pool.end();
        await superuser.end();
        await cluster.stop();
      }
    });
  }

  describe('systemd', () => {
    it('has processes listen on this machine', () => {
      for (const [unit, setting] of [
        ['rowpost-web@', 'HOST=127.0.0.1'],
        ['rowpost-relay@', 'HEALTH_HOST=127.0.0.1'],
        ['rowpost-worker@', 'HEALTH_HOST=127.0.0.1'],
      ] as const) {
        const [, environment = ''] = /^Environment=(.*)$/m.exec(read(`deploy/systemd/${unit}.service`)) ?? [];
        expect(environment.split(' '), unit).to.include(setting);
      }
    });
  });

  describe('Patroni', () => {
    const patroni = parse(read('deploy/patroni/patroni.yml')) as {
      readonly etcd3: Readonly<Record<string, unknown>>;
      readonly restapi: Readonly<Record<string, unknown>>;
      readonly postgresql: {
        readonly listen: string;
        readonly parameters: Readonly<Record<string, string>>;
        readonly pg_hba: readonly string[];
        readonly authentication: Readonly<Record<string, Readonly<Record<string, string>>>>;
      };
    };
    const etcd = parse(read('deploy/patroni/etcd.yml')) as Readonly<Record<string, unknown>>;

    it('listens on addresses of its own', () => {
      for (const file of readdirSync(path.join(ROOT, 'deploy/patroni'))) {
        expect(read(`deploy/patroni/${file}`), file).not.to.match(/0\.0\.0\.0|\*:\d|bind :/);
      }
    });

    it('lets nobody change anything without a certificate and a password', () => {
      const { verify_client, authentication, certfile, keyfile, cafile } = patroni.restapi;
      expect(verify_client).to.equal('optional');
      expect(authentication).to.deep.equal({ username: 'patroni' });
      expect([certfile, keyfile, cafile]).to.deep.equal([
        '/etc/patroni/server.crt',
        '/etc/patroni/server.key',
        '/etc/patroni/ca.crt',
      ]);
    });

    it('talks to etcd, and etcd to itself, with certificates on both sides', () => {
      expect(patroni.etcd3['protocol']).to.equal('https');
      for (const name of ['cacert', 'cert', 'key'])
        expect(patroni.etcd3[name], name).to.match(/^\/etc\/patroni\//);
      for (const transport of ['client', 'peer']) {
        expect(etcd[`${transport}-transport-security`]).to.include({
          'client-cert-auth': true,
          'trusted-ca-file': '/etc/etcd/ca.crt',
        });
      }
      for (const [name, value] of Object.entries(etcd)) {
        if (/-urls$/.test(name)) expect(value, name).to.match(/^https:/);
      }
    });

    it('connects to PostgreSQL with TLS only', () => {
      expect(patroni.postgresql.parameters['ssl']).to.equal('on');
      for (const line of patroni.postgresql.pg_hba) expect(line).to.match(/^hostssl /);
      for (const one of Object.values(patroni.postgresql.authentication)) {
        expect(one).to.include({ sslmode: 'verify-full', sslrootcert: '/etc/patroni/ca.crt' });
      }
    });
  });
});
