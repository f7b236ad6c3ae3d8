import { createHash, type Hash } from 'node:crypto';
import { UsageError } from '../../foundation/errors.js';
import type { KeyRing } from '../../config/secrets.js';

// A tenant except its own tables, as JSON lines: a header, one line per row, a trailer with the number of rows, and a signature
// of all of that. The tables are in an archive of pg_dump, whose digest is in the trailer. Ids are preserved, because filters,
// templates and clients refer to them.

export const FORMAT = 'rowpost tenant 2';
const PURPOSE = 'tenant exports';

export interface Header {
  readonly format: string;
  readonly tenantid: number;
  readonly name: string;
  readonly schema: string;
  /** Whether the schema belongs to an application. */
  readonly adopted: boolean;
  readonly suspended: boolean;
  /** The latest applied migration: rows can only be imported into tables of the same release. */
  readonly migration: string;
}

interface Trailer {
  readonly rows: number;
  /** SHA-256 of the archive of the tables, in hexadecimal; null for an adopted schema, and in a move. */
  readonly tables: string | null;
  /** The oids of the service's triggers in the archive. */
  readonly triggers: readonly string[];
}

/** Writes the lines of an export. */
export class ExportWriter {
  readonly #digest = createHash('sha256');
  #rows = 0;

  constructor(private readonly write: (line: string) => Promise<void>) {}

  async header(header: Header): Promise<void> {
    await this.#line(JSON.stringify(header));
  }

  /** @param row JSON, with more digits than JavaScript keeps */
  async row(table: string, row: string): Promise<void> {
    this.#rows += 1;
    await this.#line(`{"table":${JSON.stringify(table)},"row":${row}}`);
  }

  async end(keyRing: KeyRing, archive: Omit<Trailer, 'rows'>): Promise<void> {
    await this.#line(JSON.stringify({ rows: this.#rows, ...archive }));
    const signature = keyRing.sign(this.#digest.digest('hex'), PURPOSE).toString('base64');
    await this.write(JSON.stringify({ signature }));
  }

  async #line(line: string): Promise<void> {
    this.#digest.update(`${line}\n`);
    await this.write(line);
  }
}

/** What an export says besides its rows, once its signature is known to be right. */
export interface Verified {
  readonly header: Header;
  readonly trailer: Trailer;
  /** Of all lines but the signature. */
  readonly digest: string;
}

export interface ReadExport {
  /** Opens the lines from the first one on. */
  readonly openLines: () => AsyncIterable<string>;
  /** Of the installations whose exports are accepted. */
  readonly signers: readonly KeyRing[];
}

/** Reads all of it, and believes nothing. Throws UsageError for anything but a whole export that one of the signers signed. */
export async function verifyExport({ openLines, signers }: ReadExport): Promise<Verified> {
  let header: Header | undefined;
  let trailer: Trailer | undefined;
  let last = '';
  let digest = '';
  let rows = 0;
  for await (const { text, line, digest: before } of eachLine(openLines)) {
    if (header === undefined) header = readHeader(line);
    else if (trailer !== undefined && 'signature' in line) [last, digest] = [text, before];
    else if (trailer === undefined && 'rows' in line) trailer = readTrailer(line);
    else if (trailer === undefined && 'row' in line) rows += 1;
    else throw notAnExport();
  }
  if (header === undefined || trailer?.rows !== rows || last === '') {
    throw new UsageError('the export is incomplete: create it again');
  }
  const { signature } = JSON.parse(last) as { signature: unknown };
  const bytes = Buffer.from(typeof signature === 'string' ? signature : '', 'base64');
  if (!signers.some((keyRing) => keyRing.isSignature(bytes, digest, PURPOSE))) {
    throw new UsageError(
      'the export was changed, or another installation made it: import it as that installation wrote it, with its SECRET_KEYS as SOURCE_SECRET_KEYS and --foreign',
    );
  }
  return { header, trailer, digest };
}

/** The rows of a verified export. Throws UsageError if it has changed since. */
export async function* readRows(
  openLines: ReadExport['openLines'],
  verified: Verified,
): AsyncGenerator<{ readonly text: string; readonly table: string }> {
  let last = '';
  for await (const { text, line, digest } of eachLine(openLines)) {
    if ('row' in line) yield { text, table: String(line['table']) };
    last = digest;
  }
  if (last !== verified.digest) throw new UsageError('the export changed while it was read: import it again');
}

interface Line {
  readonly text: string;
  readonly line: Readonly<Record<string, unknown>>;
  /** Of the lines before this one. */
  readonly digest: string;
}

async function* eachLine(openLines: ReadExport['openLines']): AsyncGenerator<Line> {
  const hash: Hash = createHash('sha256');
  for await (const text of openLines()) {
    const line = readLine(text);
    yield { text, line, digest: 'signature' in line ? hash.copy().digest('hex') : '' };
    hash.update(`${text}\n`);
  }
}

function readLine(text: string): Line['line'] {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === 'object' && line !== null && !Array.isArray(line)) return line as Line['line'];
  } catch {
    // Neither is an export.
  }
  throw notAnExport();
}

const isId = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;

function readHeader(line: Line['line']): Header {
  const { format, tenantid, name, schema, adopted, suspended, migration } = line;
  const isWhole =
    format === FORMAT &&
    isId(tenantid) &&
    [name, schema, migration].every((text) => typeof text === 'string' && !text.includes('\0')) &&
    [adopted, suspended].every((flag) => typeof flag === 'boolean');
  if (!isWhole) throw notAnExport();
  return line as unknown as Header;
}

function readTrailer(line: Line['line']): Trailer {
  const { rows, tables, triggers } = line;
  const isWhole =
    Number.isInteger(rows) &&
    (tables === null || typeof tables === 'string') &&
    Array.isArray(triggers) &&
    triggers.every((oid) => typeof oid === 'string');
  if (!isWhole) throw notAnExport();
  return line as unknown as Trailer;
}

function notAnExport(): UsageError {
  return new UsageError(
    'this is not an export of a tenant, or an incomplete one: create it with "rowpost tenant export"',
  );
}
