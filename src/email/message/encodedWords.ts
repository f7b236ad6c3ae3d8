/** Bytes of UTF-8 in one encoded word, which has at most 75 characters (RFC 2047, 2). */
const MAX_WORD_BYTES = 45;

/** A header value in ASCII: words with other characters, and the spaces between such words, become encoded words. */
export function encodeHeader(value: string): string {
  return value.replace(/(?<![^ ])[!-~]*[^ -~][^ ]*(?: +[!-~]*[^ -~][^ ]*)*/g, encodeWords);
}

/**
 * Encodes words that are too long for a line (RFC 5322, 2.1.1), which can only be broken at a space. A text with other
 * characters is left to nodemailer, which encodes it as a whole.
 */
export function breakLongWords(value: string): string {
  return /^[ -~]*$/.test(value) ? value.replace(/[!-~]{900,}/g, encodeWords) : value;
}

function encodeWords(words: string): string {
  return piecesOf(words)
    .map((piece) => `=?UTF-8?B?${Buffer.from(piece).toString('base64')}?=`)
    .join(' ');
}

/** Splits the text without breaking characters. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const character of text) {
    if (Buffer.byteLength(piece + character) > MAX_WORD_BYTES) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}
