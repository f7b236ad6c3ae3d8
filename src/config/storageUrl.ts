/** Parsed STORAGE_URL. */
export type StorageAddress = FolderAddress | S3Address;

export interface FolderAddress {
  readonly kind: 'folder';
  readonly folder: string;
}

export interface S3Address {
  readonly kind: 's3';
  readonly bucket: string;
  /** Key prefix; empty, or ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  /** For services other than Amazon's. */
  readonly endpoint?: string;
  /** If absent, the SDK's default chain applies: environment, profile, instance role. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

const FORM = 'is not file:<folder> or s3://<bucket>[/<prefix>][?region=…&endpoint=…]';

/** Throws an Error whose message follows "STORAGE_URL" and quotes no value. */
export function parseStorageUrl(text: string): StorageAddress {
  if (text.startsWith('file:')) {
    const folder = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
    if (folder === '') throw new Error(FORM);
    return { kind: 'folder', folder };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 's3:' || url.hostname === '') throw new Error(FORM);
  return readS3(url);
}

function readS3(url: URL): S3Address {
  for (const name of url.searchParams.keys()) {
    if (!['region', 'endpoint'].includes(name))
      throw new Error('has a parameter other than region and endpoint');
  }
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : '')) {
    throw new Error('has an endpoint that is not an http or https URL');
  }
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  if (!/^[\w/.-]*$/.test(prefix) || prefix.split('/').includes('..')) {
    throw new Error('has a prefix with characters other than letters, digits, _, -, . and /');
  }
  const accessKeyId = decodeURIComponent(url.username);
  const secretAccessKey = decodeURIComponent(url.password);
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region: url.searchParams.get('region') ?? 'us-east-1',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === '' ? {} : { credentials: { accessKeyId, secretAccessKey } }),
  };
}
