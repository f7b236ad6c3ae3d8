import { AppError } from '../foundation/errors.js';
import type { KeyRing } from '../config/secrets.js';

/** The contents of a sealed file URL: tamper-proof and unreadable. */
export interface FileLink {
  readonly method: 'GET' | 'PUT';
  readonly tenantid: number;
  /** The role whose permissions are checked on each use. */
  readonly roleid: number;
  /** Identifies one file, or one upload, of one row. */
  readonly storagekey: string;
  /** For an upload with a declared size, in bytes. */
  readonly size: number | null;
  /** Seconds since the epoch. */
  readonly expires: number;
  /** The state of the role that it was issued for, as in tokens. For a link in an email, when that was written. */
  readonly sinceMs: number;
  /** Belongs to the email's recipients: it outlives the sessions of the role, but not the role. */
  readonly isForEmail: boolean;
}

export const FILES_PATH = '/files/';
const PURPOSE = 'rowpost file link';
const FORM = /^[\w-]{1,500}$/;

/**
 * For a front of several cells, which can't open what is sealed. It chooses the cell by it, and nothing else believes it.
 */
export const routed = (url: string, tenantid: number): string => `${url}?tenantid=${tenantid}`;

/** @returns the full URL */
export function signLink(keyRing: KeyRing, baseUrl: string, link: FileLink): string {
  const { method, tenantid, roleid, storagekey, size, expires, sinceMs, isForEmail } = link;
  const text = JSON.stringify([method, tenantid, roleid, storagekey, size, expires, sinceMs, isForEmail]);
  return `${baseUrl}${FILES_PATH}${keyRing.seal(text, PURPOSE)}`;
}

/**
 * @param sealed what follows `/files/`
 * Throws AppError FILE_URL_INVALID, FILE_URL_EXPIRED.
 */
export function readLink(keyRing: KeyRing, sealed: string, nowMs: number): FileLink {
  const text = FORM.test(sealed) ? keyRing.open(sealed, PURPOSE) : undefined;
  if (text === undefined) throw new AppError('FILE_URL_INVALID', 'The file URL is not valid.');
  const [method, tenantid, roleid, storagekey, size, expires, sinceMs, isForEmail] = JSON.parse(text) as [
    FileLink['method'],
    number,
    number,
    string,
    number | null,
    number,
    number,
    boolean,
  ];
  if (nowMs >= expires * 1000) throw new AppError('FILE_URL_EXPIRED', 'The file URL has expired.');
  return { method, tenantid, roleid, storagekey, size, expires, sinceMs, isForEmail };
}
