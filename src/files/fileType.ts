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

/** Pages and pictures that can hold scripts have no signature, but a first tag. */
function markupOf(start: Buffer): string | undefined {
  const text = start
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .replace(/\0/g, '')
    .trimStart()
    .toLowerCase();
  const withoutComments = text.replace(/^(<\?[^]*?\?>|<!--[^]*?-->|\s)+/, '');
  if (/^(<!doctype\s+svg|<svg[\s>:])/.test(withoutComments)) return 'image/svg+xml';
  if (
    /^<(!doctype\s+html|html|head|body|script|iframe|style|title|a|div|p|h1|table|img|br|font)[\s>/]/.test(
      withoutComments,
    )
  ) {
    return 'text/html';
  }
  return undefined;
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
