/** Bytes of UTF-8 in one encoded word, which has at most 75 characters (RFC 2047, 2). */
const MAX_WORD_BYTES = 45;

/** A header value in ASCII: words with other characters, and the spaces between such words, become encoded words. */
export function encodeHeader(value: string): string {
  return value.replace(/(?<![^ ])[!-~]*[^ -~][^ ]*(?: +[!-~]*[^ -~][^ ]*)*/g, (words) =>
    piecesOf(words)
      .map((piece) => `=?UTF-8?B?${Buffer.from(piece).toString('base64')}?=`)
      .join(' '),
  );
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
