import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const PROCESSES = ['release', 'web', 'relay', 'worker'] as const;

/** The table of docs/how-to/run.md: which process gets which secret. */
const table = [
  ...read('docs/how-to/run.md').matchAll(/^\| `([A-Z_]+)` \|((?: (?:yes|no|first time) \|){4})$/gm),
].map(([, secret = '', cells = '']) => {
  const given = cells.split('|').map((cell) => cell.trim());
  return [secret, PROCESSES.filter((_, index) => given[index] !== 'no')] as const;
});

interface Service {
  readonly environment: Readonly<Record<string, string>>;
}
interface Pod {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly envFrom: readonly { readonly secretRef?: { readonly name: string } }[];
        }[];
      };
    };
  };
}

describe('each process gets the secrets that it needs, and no others', () => {
  it('which docs/how-to/run.md lists', () => {
    expect(table.map(([secret]) => secret)).to.deep.equal([
      'DATABASE_URL',
      'SECRET_KEYS',
      'REDIS_URL',
      'PXADMIN_PASSWORD',
      'SOURCE_SECRET_KEYS',
      'TARGET_DATABASE_URL',
    ]);
  });

  it('from Docker Compose', () => {
    const { services } = parse(read('deploy/compose.yaml'), { merge: true }) as {
      services: Record<string, Service>;
    };
    for (const [secret, processes] of table) {
      const given = PROCESSES.filter((name) => secret in services[name]!.environment);
      expect(given, secret).to.deep.equal(processes);
    }
  });

  it('from Kubernetes', () => {
    const created = [
      ...read('deploy/kubernetes/kustomization.yaml').matchAll(/create secret generic (\S+) (.*)$/gm),
    ];
    const literals = new Map(
      created.map(([, name, text = '']) => [
        name,
        [...text.matchAll(/--from-literal=([A-Z_]+)=/g)].map(([, secret]) => secret),
      ]),
    );
    for (const [secret, processes] of table) {
      const given = PROCESSES.filter((name) => {
        const pod = parseAllDocuments(read(`deploy/kubernetes/${name}.yaml`))[0]!.toJS() as Pod;
        const [container] = pod.spec.template.spec.containers;
        expect(container?.args).to.deep.equal([name]);
        return container!.envFrom.some(({ secretRef }) => literals.get(secretRef?.name)?.includes(secret));
      });
      expect(given, secret).to.deep.equal(processes);
    }
  });

  it('from systemd, whose units share a file', () => {
    for (const [secret, processes] of table) {
      const given = PROCESSES.filter((name) => {
        const unit = read(`deploy/systemd/rowpost-${name === 'release' ? name : `${name}@`}.service`);
        return !/^UnsetEnvironment=(.*)$/m.exec(unit)?.[1]?.split(' ').includes(secret);
      });
      expect(given, secret).to.deep.equal(processes);
    }
  });
});
