import { fileTypeFromBuffer } from 'file-type';
import mimeTypes from 'mime-types';

/** Leading bytes needed to detect the type. */
export const SNIFFED_BYTES = 4_100;

const UNKNOWN = 'application/octet-stream';
const FORM = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;

/**
 * The type of a file, determined by its leading bytes or, for types without a signature, as declared by the client or the
 * name. So an executable can't pass as an image, nor HTML as text.
 */
export async function typeOf(
  start: Buffer,
  { mimetype, filename }: { readonly mimetype: string | null; readonly filename: string },
): Promise<string> {
  const seen = markupOf(start) ?? (await fileTypeFromBuffer(start))?.mime;
  if (seen !== undefined) return refine(seen, mimetype);
  const declared = readType(mimetype) ?? readType(mimeTypes.lookup(filename) || null);
  // These types have signatures, so the declaration is wrong.
  return declared === undefined || hasSignature(declared) ? UNKNOWN : declared;
}

/** Whether one of the patterns (`image/png`, `image/*`) matches. */
export function isAllowedType(type: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*/*' ||
      pattern === type ||
      (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1))),
  );
}

/** Whether it is a type as files are stored with. */
export function isPlainType(type: string): boolean {
  return FORM.test(type);
}

function readType(given: string | null): string | undefined {
  const type = given?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return FORM.test(type) ? type : undefined;
}

/** The signature only says "zip"; for an office document, the client's declaration counts. */
function refine(seen: string, mimetype: string | null): string {
  const declared = readType(mimetype);
  const isContainer = ['application/zip', 'application/x-cfb', 'application/xml'].includes(seen);
  const isKind = declared !== undefined && /^application\/(vnd\.|msword|epub|java-archive)/.test(declared);
  return isContainer && isKind ? declared : seen;
}

/** Byte order marks of UTF-8 and UTF-16, read as latin1. */
const MARKS = /^(?:\u00ef\u00bb\u00bf|\u00ff\u00fe|\u00fe\u00ff)+/;
/** What may precede the first tag. */
const PROLOG = /^(?:\s+|<\?[^]*?\?>|<!--[^]*?-->)+/;
const DOCTYPE = /^<!doctype\s[^>[]*(?:\[[^]*?\]\s*)?>/;
/** The name of a doctype or tag, without a namespace prefix. */
const NAME = /^<(?:!doctype\s+)?(?:[\w.-]+:)?([a-z][\w-]*)(?=[\s>/[]|$)/;
const PAGE_NAMES = new Set(
  'html head body script iframe style title a div p h1 table img br font'.split(' '),
);

/** HTML and SVG, which may contain scripts, have no signature but start with a doctype or a tag. */
function markupOf(start: Buffer): string | undefined {
  // Strips the zero bytes of UTF-16.
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
