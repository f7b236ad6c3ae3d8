import { fileTypeFromBuffer } from 'file-type';
import mimeTypes from 'mime-types';

/** So many first bytes tell the type. */
export const SNIFFED_BYTES = 4_100;

const UNKNOWN = 'application/octet-stream';
const FORM = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;

/**
 * The type of a file: what its first bytes say, or else, for types that have no signature, what the client or the name
 * says. So a program can't pass for a picture, and a page can't pass for text.
 */
export async function typeOf(
  start: Buffer,
  { mimetype, filename }: { readonly mimetype: string | null; readonly filename: string },
): Promise<string> {
  const seen = markupOf(start) ?? (await fileTypeFromBuffer(start))?.mime;
  if (seen !== undefined) return refine(seen, mimetype);
  const declared = readType(mimetype) ?? readType(mimeTypes.lookup(filename) || null);
  // Had it been one of these, its first bytes would have said so.
  return declared === undefined || hasSignature(declared) ? UNKNOWN : declared;
}

/** Whether one of the patterns (`image/png`, `image/*`) fits. */
export function isAllowedType(type: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*/*' ||
      pattern === type ||
      (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1))),
  );
}

function readType(given: string | null): string | undefined {
  const type = given?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return FORM.test(type) ? type : undefined;
}

/** A signature says "zip"; that it is a document of an office program only the client knows. */
function refine(seen: string, mimetype: string | null): string {
  const declared = readType(mimetype);
  const isContainer = ['application/zip', 'application/x-cfb', 'application/xml'].includes(seen);
  const isKind = declared !== undefined && /^application\/(vnd\.|msword|epub|java-archive)/.test(declared);
  return isContainer && isKind ? declared : seen;
}

/** Byte order marks of UTF-8 and UTF-16, read as latin1. */
const MARKS = /^(?:\u00ef\u00bb\u00bf|\u00ff\u00fe|\u00fe\u00ff)+/;
/** What may stand ahead of the first tag. */
const PROLOG = /^(?:\s+|<\?[^]*?\?>|<!--[^]*?-->)+/;
const DOCTYPE = /^<!doctype\s[^>[]*(?:\[[^]*?\]\s*)?>/;
/** The name of a document type or of a tag, without the prefix of a namespace. */
const NAME = /^<(?:!doctype\s+)?(?:[\w.-]+:)?([a-z][\w-]*)(?=[\s>/[]|$)/;
const PAGE_NAMES = new Set(
  'html head body script iframe style title a div p h1 table img br font'.split(' '),
);

/** Pages and pictures that can hold scripts have no signature, but a document type or a first tag. */
function markupOf(start: Buffer): string | undefined {
  // Without the zeros that UTF-16 has between the letters.
  const text = start.toString('latin1').replace(MARKS, '').replace(/\0/g, '').toLowerCase();
  const document = text.replace(PROLOG, '');
  const root = document.replace(DOCTYPE, '').replace(PROLOG, '');
  const names = [document, root].map((from) => NAME.exec(from)?.[1] ?? '');
  if (names.includes('svg')) return 'image/svg+xml';
  return names.some((name) => PAGE_NAMES.has(name)) ? 'text/html' : undefined;
}

function hasSignature(type: string): boolean {
  if (type === 'image/svg+xml') return true;
  return /^(image|audio|video|font)\//.test(type) || SIGNED.has(type);
}

const SIGNED = new Set([
  'application/pdf',
  'application/zip',
  'application/gzip',
  'text/html',
  'application/xhtml+xml',
]);
