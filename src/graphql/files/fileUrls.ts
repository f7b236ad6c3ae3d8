import { randomBytes } from 'node:crypto';
import { param, sql, type Slot, type Sql } from '../../db/sql/sql.js';
import type { Principal } from '../../db/roles/principal.js';
import { routed, signLink, type FileLink } from '../../files/fileLinks.js';
import type { KeyRing } from '../../config/secrets.js';

/** Shared by the plans of statements with file URLs. */
export interface FileOptions {
  /** Prefixes of placeholders, as parameters: each placeholder in the response is replaced by a URL or a storage key. */
  readonly placeholders: Readonly<Record<FileLink['method'] | 'KEY', Slot>>;
  /** Validity of upload URLs. */
  readonly urlSeconds: number;
  /** Maximum size of a file. */
  readonly maxBytes: number;
}

/** An email whose query selects files: its URLs are valid for longer. */
export interface FilesOfEmail {
  /** Called with the storage key of each file in a response, in order. */
  readonly onFile: (storagekey: string) => void;
}

export interface FileUrlSettings {
  readonly keyRing: KeyRing;
  readonly baseUrl: string;
  /** One of several: URLs tell the front their tenant. */
  readonly isCell?: boolean;
  readonly urlSeconds: number;
  /** Validity of download links in emails. */
  readonly linkSeconds: number;
  readonly maxBytes: number;
  readonly now: () => number;
}

/**
 * Inserts signed URLs into responses. PostgreSQL builds the response without knowing the signing key, so it writes a
 * placeholder for each URL. Placeholders contain a secret of this process, so data can't forge them. Storage keys are
 * handled the same way: the files listed in a response are then known without trusting its data.
 */
export class FileUrls {
  readonly options: FileOptions;
  readonly #placeholders: RegExp;

  constructor(private readonly settings: FileUrlSettings) {
    const marker = `@${randomBytes(16).toString('hex')}:`;
    const { urlSeconds, maxBytes } = settings;
    const placeholder = (what: string): Slot => {
      const start = `"${marker}${what}:`;
      return () => start;
    };
    this.options = {
      placeholders: { GET: placeholder('GET'), PUT: placeholder('PUT'), KEY: placeholder('KEY') },
      urlSeconds,
      maxBytes,
    };
    this.#placeholders = new RegExp(`${marker}(GET|PUT|KEY):([0-9a-f-]{36}):(\\d*);`, 'g');
  }

  /**
   * Replaces placeholders with storage keys, and with URLs that act for the principal.
   * @param email given if the result goes into an email
   */
  write(json: string, principal: Principal, email?: FilesOfEmail): string {
    // A file may occur many times in a response; its URL is signed once.
    const signed = new Map<string, string>();
    return json.replace(
      this.#placeholders,
      (placeholder: string, method: FileLink['method'] | 'KEY', storagekey: string, size: string) => {
        if (method === 'KEY') {
          email?.onFile(storagekey);
          return storagekey;
        }
        const known = signed.get(placeholder);
        if (known !== undefined) return known;
        const sinceMs = email ? undefined : principal.tokensValidFromMs;
        const url = this.#sign(method, principal, storagekey, size === '' ? null : Number(size), sinceMs);
        signed.set(placeholder, url);
        return url;
      },
    );
  }

  /** A link to download a file, for an email. */
  link(principal: Pick<Principal, 'tenantid' | 'roleid'>, storagekey: string): string {
    return this.#sign('GET', principal, storagekey, null);
  }

  /** @param sinceMs the state of the principal; undefined for an email */
  #sign(
    method: FileLink['method'],
    { tenantid, roleid }: Pick<Principal, 'tenantid' | 'roleid'>,
    storagekey: string,
    size: number | null,
    sinceMs?: number,
  ): string {
    const { keyRing, baseUrl, isCell, urlSeconds, linkSeconds } = this.settings;
    const now = this.settings.now();
    const isForEmail = sinceMs === undefined;
    const url = signLink(keyRing, baseUrl, {
      method,
      tenantid,
      roleid,
      storagekey,
      size,
      expires: Math.floor(now / 1000) + (isForEmail ? linkSeconds : urlSeconds),
      sinceMs: sinceMs ?? now,
      isForEmail,
    });
    return isCell === true ? routed(url, tenantid) : url;
  }
}

/** A placeholder for the storage key itself, as JSON text. */
export function keyPlaceholder({ placeholders }: FileOptions, storagekey: Sql): Sql {
  return sql`${param(placeholders.KEY, 'text')} operator(pg_catalog.||) ${storagekey} operator(pg_catalog.||) ':;"'`;
}

/** A placeholder for a file's URL, as JSON text. */
export function urlPlaceholder(
  { placeholders }: FileOptions,
  method: FileLink['method'],
  storagekey: Sql,
  size?: Sql,
): Sql {
  const start = param(placeholders[method], 'text');
  return sql`${start} operator(pg_catalog.||) ${storagekey} operator(pg_catalog.||) ':' operator(pg_catalog.||) ${size ? sql`coalesce(${size}::pg_catalog.text, '')` : sql`''`} operator(pg_catalog.||) ';"'`;
}

/** Whether results of a statement with these parameters contain placeholders. */
export function containPlaceholders({ placeholders }: FileOptions, slots: readonly Slot[]): boolean {
  return Object.values(placeholders).some((placeholder) => slots.includes(placeholder));
}
