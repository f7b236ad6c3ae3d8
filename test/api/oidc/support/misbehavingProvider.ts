import { KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  base64url,
  CompactSign,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose';

/** How an ID token is signed. */
export type Signature = 'right' | 'other key' | 'none' | 'HS256 with the public key' | 'without kid';
type Response = (res: ServerResponse) => void;

/** What to do wrong. All is done right when nothing is set. */
export interface Misbehavior {
  readonly claims?: JWTPayload;
  /** Who signs in next, for several at once. */
  readonly nextPerson?: () => JWTPayload;
  /** Rewrites the claims, which are JSON. */
  readonly payload?: (json: string) => string;
  readonly signature?: Signature;
  /** The header of the ID token, instead of algorithm and key id; signed with RS256. */
  readonly header?: object;
  readonly idToken?: string;
  readonly token?: Response;
  /** The response to token requests with HTTP Basic only. */
  readonly basic?: Response;
  /** How JSON is written. */
  readonly json?: typeof json;
  /** What comes with the ID token, instead of an access token. */
  readonly besides?: object;
  readonly jwks?: Response;
  /** The response at its UserInfo endpoint; 404 by default. */
  readonly userInfo?: Response | JWTPayload;
  readonly signsUserInfo?: true;
  /** What stands at a `/.well-known/openid-configuration`, by its path; nothing by default. */
  readonly discovery?: Readonly<Record<string, object>>;
  /** The response at each `/.well-known/openid-configuration`, instead. */
  readonly wellKnown?: Response;
  /** The parameters of the redirect back; `code` and `state` are added to none. */
  readonly callback?: Readonly<Record<string, string>>;
}

interface Keys {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** RSA keys of providers that have ended, for the next ones: making a pair takes up to half a second. */
const spareKeys: Keys[] = [];
let otherKey: Promise<Keys> | undefined;

/** A provider that logs everybody in at once as `somebody`, and does wrong what it is told to. */
export class MisbehavingProvider {
  misbehavior: Misbehavior = {};
  jwksReads = 0;
  discoveryReads = 0;
  userInfoReads = 0;
  userInfoSignature: Signature = 'right';
  /** Of the last token request. */
  lastForm = new URLSearchParams();
  lastAuthorization: string | undefined;
  /** Of the last request of any kind that was not a browser's. */
  lastHeaders: IncomingHttpHeaders = {};
  #keys: (Keys & { readonly kid: string; readonly alg: string }) | undefined;
  readonly #rsaKeys: Keys[] = [];
  #otherKey: CryptoKey | undefined;
  readonly #nonces = new Map<string, { nonce: string; clientId: string; person: JWTPayload }>();
  readonly #server = createServer((req, res) => {
    void this.#response(req, res);
  });

  static async start(): Promise<MisbehavingProvider> {
    const provider = new MisbehavingProvider();
    await provider.rotateKeys();
    otherKey ??= generateKeyPair('RS256');
    provider.#otherKey = (await otherKey).privateKey;
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get endpoints(): { auth_uri: string; token_uri: string; jwks_uri: string } {
    return {
      auth_uri: `${this.issuer}/authorize?tenant=x`,
      token_uri: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
    };
  }

  async rotateKeys(kid: string = randomUUID(), alg = 'RS256'): Promise<void> {
    const spare = alg === 'RS256' ? spareKeys.pop() : undefined;
    const keys = spare ?? (await generateKeyPair(alg, { extractable: true }));
    if (alg === 'RS256') this.#rsaKeys.push(keys);
    this.#keys = { privateKey: keys.privateKey, publicKey: keys.publicKey, kid, alg };
  }

  /** The key that verifies its ID tokens. */
  async publicJwk(): Promise<JWK> {
    const { publicKey, kid, alg } = this.#keys!;
    return { ...(await exportJWK(publicKey)), kid, use: 'sig', alg };
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    // Also those that came until now and that it never responds to.
    this.#server.closeAllConnections();
    await closed;
    spareKeys.push(...this.#rsaKeys.splice(0));
  }

  async #response(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', this.issuer);
    if (!url.pathname.endsWith('/authorize')) this.lastHeaders = req.headers;
    const wellKnown = /^(.*)\/\.well-known\/openid-configuration$/.exec(url.pathname)?.[1];
    if (wellKnown !== undefined) {
      this.discoveryReads += 1;
      if (this.misbehavior.wellKnown) {
        this.misbehavior.wellKnown(res);
        return;
      }
      const document = this.misbehavior.discovery?.[wellKnown];
      this.#json(res, document ? 200 : 404, document ?? { error: 'not found' });
    } else if (url.pathname.endsWith('/authorize')) this.#authorize(url, res);
    else if (url.pathname === '/jwks') await this.#jwks(res);
    else if (url.pathname === '/userinfo') await this.#userInfo(res);
    else await this.#token(req, res);
  }

  #authorize({ searchParams }: URL, res: ServerResponse): void {
    const code = randomUUID();
    const value = (name: string): string => searchParams.get(name) ?? '';
    const person = this.misbehavior.nextPerson?.() ?? {};
    this.#nonces.set(code, { nonce: value('nonce'), clientId: value('client_id'), person });
    const back = new URL(value('redirect_uri'));
    const parameters = this.misbehavior.callback ?? { code, state: value('state') };
    for (const [name, text] of Object.entries(parameters)) back.searchParams.set(name, text);
    if (this.misbehavior.callback) back.searchParams.set('state', value('state'));
    res.writeHead(302, { location: back.href }).end();
  }

  async #jwks(res: ServerResponse): Promise<void> {
    this.jwksReads += 1;
    if (this.misbehavior.jwks) {
      this.misbehavior.jwks(res);
      return;
    }
    this.#json(res, 200, { keys: [await this.publicJwk()] });
  }

  /** A discovery document that names it. */
  get documentWithUserInfo(): object {
    return {
      issuer: this.issuer,
      jwks_uri: this.endpoints.jwks_uri,
      userinfo_endpoint: `${this.issuer}/userinfo`,
    };
  }

  async #userInfo(res: ServerResponse): Promise<void> {
    this.userInfoReads += 1;
    const { userInfo, signsUserInfo } = this.misbehavior;
    if (typeof userInfo === 'function') userInfo(res);
    else if (!userInfo) json(res, 404, {});
    else if (signsUserInfo) {
      res
        .writeHead(200, { 'content-type': 'application/jwt' })
        .end(await this.sign(userInfo, this.userInfoSignature));
    } else this.#json(res, 200, userInfo);
  }

  async #token(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of req) body += String(chunk);
    this.lastForm = new URLSearchParams(body);
    this.lastAuthorization = req.headers.authorization;
    const { token, basic } = this.misbehavior;
    const response = token ?? (this.lastAuthorization === undefined ? undefined : basic);
    if (response) {
      response(res);
      return;
    }
    const known = this.#nonces.get(this.lastForm.get('code') ?? '');
    this.#nonces.delete(this.lastForm.get('code') ?? '');
    if (!known) {
      json(res, 400, { error: 'invalid_grant' });
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: known.clientId,
      sub: 'somebody',
      nonce: known.nonce,
      iat: now,
      exp: now + 300,
      ...known.person,
      ...this.misbehavior.claims,
    };
    const id_token = this.misbehavior.idToken ?? (await this.sign(claims));
    const besides = this.misbehavior.besides ?? { access_token: 'opaque', token_type: 'Bearer' };
    this.#json(res, 200, { ...besides, id_token });
  }

  #json(res: ServerResponse, status: number, body: unknown): void {
    (this.misbehavior.json ?? json)(res, status, body);
  }

  /** An ID token or a logout token, signed as misbehaving says. */
  async sign(claims: JWTPayload, signature = this.misbehavior.signature): Promise<string> {
    const { privateKey, publicKey, kid, alg } = this.#keys!;
    const { header } = this.misbehavior;
    if (header) {
      const signed = [header, claims].map((part) => base64url.encode(JSON.stringify(part))).join('.');
      const signature = sign('sha256', Buffer.from(signed), KeyObject.from(privateKey));
      return `${signed}.${base64url.encode(signature)}`;
    }
    const payload = this.misbehavior.payload?.(JSON.stringify(claims)) ?? JSON.stringify(claims);
    const jwt = new CompactSign(new TextEncoder().encode(payload));
    switch (signature) {
      case 'none':
        return `${base64url.encode('{"alg":"none"}')}.${base64url.encode(JSON.stringify(claims))}.`;
      case 'HS256 with the public key':
        return jwt
          .setProtectedHeader({ alg: 'HS256', kid })
          .sign(new TextEncoder().encode(await exportSPKI(publicKey)));
      case 'other key':
        return jwt.setProtectedHeader({ alg: 'RS256', kid }).sign(this.#otherKey!);
      case 'without kid':
        return jwt.setProtectedHeader({ alg }).sign(privateKey);
      default:
        return jwt.setProtectedHeader({ alg, kid }).sign(privateKey);
    }
  }
}

export function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
