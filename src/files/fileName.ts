const MAX_BYTES = 200;
/** Control characters, line ends, bidi controls, and characters reserved by file systems and shells. */
const UNWANTED = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\ufeff<>:"|?*]/gu;
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** The lookbehind makes each run one beginning: otherwise long runs would take time with the square of their length. */
const MARGIN = /^[. ]+|(?<![. ])[. ]+$/g;

/** Makes a name safe to save a file under: no folders, never empty. */
export function sanitizeFileName(given: string): string {
  const last = given.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const plain = last.replace(UNWANTED, '').replace(/\s+/g, ' ').replace(MARGIN, '');
  const name = shorten(DEVICE.test(plain) ? `_${plain}` : plain);
  return name === '' ? 'file' : name;
}

/** Keeps the extension. A name may be as long as a request, so it is scanned once and no further than needed. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const extension = /\.[\p{L}\p{N}]{1,15}$/u.exec(name.slice(-MAX_BYTES))?.[0] ?? '';
  let stem = '';
  let left = MAX_BYTES - Buffer.byteLength(extension);
  for (const sign of name.slice(0, name.length - extension.length)) {
    left -= Buffer.byteLength(sign);
    if (left < 0) break;
    stem += sign;
  }
  return `${stem}${extension}`;
}
