import { createHash, createHmac, type Hash } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/** A request ready to send, with its bytes and signed headers. */
export interface SignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

type HashLike = Pick<Hash, 'digest'> & { update(data: Uint8Array): unknown };

/** The hash implementation that the library requires. */
class Sha256 {
  #hash: HashLike;

  constructor(private readonly secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = Sha256.#start(secret);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }

  reset(): void {
    this.#hash = Sha256.#start(this.secret);
  }

  static #start(secret?: string | ArrayBuffer | ArrayBufferView): HashLike {
    if (secret === undefined) return createHash('sha256');
    return createHmac('sha256', secret instanceof ArrayBuffer ? Buffer.from(secret) : (secret as string));
  }
}

/** Signs a request to SES (AWS Signature Version 4). @param host the value of the Host header */
export async function signRequest(
  { accessKeyId, secretAccessKey, region }: AwsKey,
  host: string,
  { method, url, headers, body }: SignedRequest,
): Promise<SignedRequest> {
  const signer = new SignatureV4({
    service: 'ses',
    region,
    credentials: { accessKeyId, secretAccessKey },
    sha256: Sha256,
  });
  const signed = await signer.sign({
    method,
    protocol: 'https:',
    hostname: host,
    path: url,
    query: {},
    headers: { ...headers, host },
    body,
  });
  return { method, url, headers: signed.headers, ...(body === undefined ? {} : { body }) };
}
