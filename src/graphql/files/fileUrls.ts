import { randomBytes } from 'node:crypto';
import { param, sql, type Slot, type Sql } from '../../db/sql.js';
import type { Principal } from '../../db/principal.js';
import { routed, signLink, type FileLink } from '../../files/fileLinks.js';
import type { KeyRing } from '../../secrets.js';

/** Shared by the plans of statements with file URLs. */
export interface FileTerms {
  /** Prefixes of marks, as parameters: each mark is replaced by a URL or a storage key in the answer. */
  readonly marks: Readonly<Record<FileLink['method'] | 'KEY', Slot>>;
  /** Of uploads, in seconds. */
  readonly urlSeconds: number;
  /** Of one file. */
  readonly maxBytes: number;
}

/** An email whose query selects files: its URLs are valid for longer. */
export interface FilesOfEmail {
  /** Called with the storage key of each file in an answer, in the answer's order. */
  readonly onFile: (storagekey: string) => void;
}

export interface FileUrlSettings {
  readonly keyRing: KeyRing;
  readonly baseUrl: string;
  /** One of several: URLs tell the front their tenant. */
  readonly isCell?: boolean;
  readonly urlSeconds: number;
  /** In emails. */
  readonly linkSeconds: number;
  readonly maxBytes: number;
  readonly now: () => number;
}

/**
 * Inserts signed URLs into answers. PostgreSQL writes the answer without knowing the key, so it writes a mark in
 * place of each URL. Marks contain a secret of this process, so data can't forge them. The same is done for storage
 * keys: the files listed by an answer are then known without trusting its data.
 */
export class FileUrls {
  readonly terms: FileTerms;
  readonly #marks: RegExp;

  constructor(private readonly settings: FileUrlSettings) {
    const marker = `@${randomBytes(16).toString('hex')}:`;
    const { urlSeconds, maxBytes } = settings;
    const mark = (what: string): Slot => {
      const start = `"${marker}${what}:`;
      return () => start;
    };
    this.terms = { marks: { GET: mark('GET'), PUT: mark('PUT'), KEY: mark('KEY') }, urlSeconds, maxBytes };
    this.#marks = new RegExp(`${marker}(GET|PUT|KEY):([0-9a-f-]{36}):(\\d*);`, 'g');
  }

  /**
   * The answer with marks replaced by storage keys, and by URLs that act for the principal.
   * @param email if the answer is for one
   */
  write(answer: string, principal: Principal, email?: FilesOfEmail): string {
    const seconds = email ? this.settings.linkSeconds : this.settings.urlSeconds;
    // A file may occur many times in an answer: its URL is signed once.
    const signed = new Map<string, string>();
    return answer.replace(
      this.#marks,
      (mark: string, method: FileLink['method'] | 'KEY', storagekey: string, size: string) => {
        if (method === 'KEY') {
          email?.onFile(storagekey);
          return storagekey;
        }
        const known = signed.get(mark);
        if (known !== undefined) return known;
        const url = this.#sign(method, principal, storagekey, size === '' ? null : Number(size), seconds);
        signed.set(mark, url);
        return url;
      },
    );
  }

  /** A link to download a file, for an email. */
  link(principal: Pick<Principal, 'tenantid' | 'roleid'>, storagekey: string): string {
    return this.#sign('GET', principal, storagekey, null, this.settings.linkSeconds);
  }

  #sign(
    method: FileLink['method'],
    { tenantid, roleid }: Pick<Principal, 'tenantid' | 'roleid'>,
    storagekey: string,
    size: number | null,
    seconds: number,
  ): string {
    const { keyRing, baseUrl, isCell, now } = this.settings;
    const expires = Math.floor(now() / 1000) + seconds;
    const url = signLink(keyRing, baseUrl, { method, tenantid, roleid, storagekey, size, expires });
    return isCell === true ? routed(url, tenantid) : url;
  }
}

/** A mark for the storage key itself, as JSON text. */
export function keyMark({ marks }: FileTerms, storagekey: Sql): Sql {
  return sql`${param(marks.KEY, 'text')} || ${storagekey} || ':;"'`;
}

/** A mark for a file's URL, as JSON text. */
export function urlMark({ marks }: FileTerms, method: FileLink['method'], storagekey: Sql, size?: Sql): Sql {
  const start = param(marks[method], 'text');
  return sql`${start} || ${storagekey} || ':' || ${size ? sql`coalesce(${size}::text, '')` : sql`''`} || ';"'`;
}

/** Whether answers of a statement with these parameters contain marks. */
export function holdMarks({ marks }: FileTerms, slots: readonly Slot[]): boolean {
  return Object.values(marks).some((mark) => slots.includes(mark));
}
