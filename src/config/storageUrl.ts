import { parseWebAddress } from './webAddress.js';

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

/** Also of other services than Amazon's, which has no upper case and no _. */
const BUCKET = /^[\w.-]+$/;
const FORM = 'is not file:<folder> or s3://<bucket>[/<prefix>][?region=…&endpoint=…]';

/** Throws an Error whose message follows "STORAGE_URL" and quotes no value. */
export function parseStorageUrl(text: string): StorageAddress {
  if (text.startsWith('file:')) {
    const folder = text.slice('file:'.length).replace(/^\/\/(localhost)?(?=\/)/, '');
    // The host of a URL, which has no files here.
    if (folder === '' || folder.startsWith('//')) throw new Error(FORM);
    return { kind: 'folder', folder };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 's3:' || !BUCKET.test(url.hostname) || url.port + url.hash !== '')
    throw new Error(FORM);
  return readS3(url);
}

function readS3(url: URL): S3Address {
  for (const [name, value] of url.searchParams) {
    if (!['region', 'endpoint'].includes(name))
      throw new Error('has a parameter other than region and endpoint');
    if (value === '' || url.searchParams.getAll(name).length > 1)
      throw new Error(`has an empty ${name}, or more than one`);
  }
  const region = url.searchParams.get('region') ?? 'us-east-1';
  const endpoint = url.searchParams.get('endpoint');
  const address = endpoint === null ? undefined : parseWebAddress(endpoint);
  if (endpoint !== null && !address) {
    throw new Error('has an endpoint that is not an http or https URL without user, query and fragment');
  }
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  if (!/^[\w/.-]*$/.test(prefix) || prefix.split('/').includes('..')) {
    throw new Error('has a prefix with characters other than letters, digits, _, -, . and /');
  }
  const accessKeyId = decodeURIComponent(url.username);
  const secretAccessKey = decodeURIComponent(url.password);
  if ((accessKeyId === '') !== (secretAccessKey === '')) {
    throw new Error('has an access key without its secret, or a secret without its access key');
  }
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region,
    ...(address && { endpoint: address.origin + address.path }),
    ...(accessKeyId === '' ? {} : { credentials: { accessKeyId, secretAccessKey } }),
  };
}
