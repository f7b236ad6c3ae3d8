import { randomBytes } from 'node:crypto';
import { param, sql, type Slot, type Sql } from '../../db/sql.js';
import type { Principal } from '../../db/principal.js';
import { signLink, type FileLink } from '../../files/fileLinks.js';
import type { KeyRing } from '../../secrets.js';

/** What the plans of statements with addresses of files share. */
export interface FileTerms {
  /** What a mark begins with, as parameters: each stands in an answer where an address or a storage key is to be. */
  readonly marks: Readonly<Record<FileLink['method'] | 'KEY', Slot>>;
  /** Of uploads, in seconds. */
  readonly urlSeconds: number;
  /** Of one file. */
  readonly maxBytes: number;
}

/** An email whose query asks for files: its addresses are good for longer. */
export interface FilesOfEmail {
  /** Told the storage key of each file that an answer lists by it, in the answer's order. */
  readonly onFile: (storagekey: string) => void;
}

export interface FileUrlSettings {
  readonly keyRing: KeyRing;
  readonly baseUrl: string;
  readonly urlSeconds: number;
  /** In emails. */
  readonly linkSeconds: number;
  readonly maxBytes: number;
  readonly now: () => number;
}

/**
 * Puts signed addresses into answers. PostgreSQL writes an answer as text, and does not know the key: where an address
 * belongs it writes a mark, which holds a secret of this process, so that no data can pass for one. So it does where a
 * file's storage key belongs: which files an answer lists is then known without trusting its data.
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
   * The answer with addresses, which act for the principal, and storage keys in place of marks.
   * @param email when the answer is for one
   */
  write(answer: string, principal: Principal, email?: FilesOfEmail): string {
    const seconds = email ? this.settings.linkSeconds : this.settings.urlSeconds;
    // One file may be in an answer very often: it is signed once.
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
    const { keyRing, baseUrl, now } = this.settings;
    const expires = Math.floor(now() / 1000) + seconds;
    return signLink(keyRing, baseUrl, { method, tenantid, roleid, storagekey, size, expires });
  }
}

/** A mark as JSON text, for the storage key itself. */
export function keyMark({ marks }: FileTerms, storagekey: Sql): Sql {
  return sql`${param(marks.KEY, 'text')} || ${storagekey} || ':;"'`;
}

/** A mark as JSON text, for the file that `storagekey` names. */
export function urlMark({ marks }: FileTerms, method: FileLink['method'], storagekey: Sql, size?: Sql): Sql {
  const start = param(marks[method], 'text');
  return sql`${start} || ${storagekey} || ':' || ${size ? sql`coalesce(${size}::text, '')` : sql`''`} || ';"'`;
}

/** Whether answers of a statement with these parameters hold marks. */
export function holdMarks({ marks }: FileTerms, slots: readonly Slot[]): boolean {
  return Object.values(marks).some((mark) => slots.includes(mark));
}
