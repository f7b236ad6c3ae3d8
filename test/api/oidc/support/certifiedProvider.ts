import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./certifiedProvider.mjs', import.meta.url));

export interface ClientRegistration {
  readonly client_id: string;
  readonly client_secret: string;
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  readonly backchannel_logout_uri?: string;
  readonly backchannel_logout_session_required?: boolean;
  readonly token_endpoint_auth_method?: 'client_secret_basic' | 'client_secret_post';
}

/** The oidc-provider package, running. Any login is a user: its `sub`, with `email` and `oid` made of it. */
export interface CertifiedProvider {
  readonly issuer: string;
  readonly endpoints: { readonly auth_uri: string; readonly token_uri: string; readonly jwks_uri: string };
  /** Signs with a new key from now on; the old one is gone. */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

export async function startCertifiedProvider(
  clients: readonly ClientRegistration[],
): Promise<CertifiedProvider> {
  const child = fork(SCRIPT, {
    env: { ...process.env, PROVIDER_OPTIONS: JSON.stringify({ clients }) },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [{ issuer }] = (await once(child, 'message')) as [{ issuer: string }];
  return {
    issuer,
    endpoints: { auth_uri: `${issuer}/auth`, token_uri: `${issuer}/token`, jwks_uri: `${issuer}/jwks` },
    async rotateKeys() {
      child.send('rotate');
      await once(child, 'message');
    },
    async stop() {
      child.kill();
      await exited;
    },
  };
}
