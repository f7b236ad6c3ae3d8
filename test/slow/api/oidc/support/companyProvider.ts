import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./companyProvider.mjs', import.meta.url));

/** How a company has set up its oidc-provider. */
export interface Site {
  readonly name: string;
  /** Of ID tokens; RS256 by default. */
  readonly alg?: 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA';
  readonly client: Readonly<Record<string, unknown>>;
  /** Of the package. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** The claims of everybody whom the provider knows. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface CompanyProvider {
  issuerOf(site: string): string;
  setPeople(people: People): Promise<void>;
  /** Signs with a new key from now on; the old one is gone. */
  rotateKeys(site: string): Promise<void>;
  setClient(site: string, more: Readonly<Record<string, unknown>>): Promise<void>;
  stop(): Promise<void>;
}

export async function startCompanyProvider(sites: readonly Site[]): Promise<CompanyProvider> {
  const child = fork(SCRIPT, {
    env: { ...process.env, SITES: JSON.stringify(sites) },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const received = async (): Promise<unknown> => {
    const [message] = (await Promise.race([
      once(child, 'message'),
      exited.then(() => {
        throw new Error('the provider has ended');
      }),
    ])) as [unknown];
    return message;
  };
  const issuers = (await received()) as Readonly<Record<string, string>>;
  const send = async (message: object): Promise<void> => {
    child.send(message);
    await received();
  };
  return {
    issuerOf: (site) => issuers[site]!,
    setPeople: (people) => send({ people }),
    rotateKeys: (site) => send({ rotate: site }),
    setClient: (site, client) => send({ rotate: site, client }),
    async stop() {
      child.kill();
      await exited;
    },
  };
}
