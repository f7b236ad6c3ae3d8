/**
 * Messages and lists of parts, which must not be encoded (RFC 2046, 5.1 and 5.2): as such, a file's bytes would be added as they are, bare
 * CR and NUL included, or receivers would read parts of the email instead of a file.
 */
const COMPOSITE = /^(message|multipart)\//i;

/** The type under which a file is attached, so that receivers get its bytes. */
export function attachmentType(mimetype: string): string {
  return COMPOSITE.test(mimetype) ? 'application/octet-stream' : mimetype;
}
