/** Maximum length of a header value: a line of an email (RFC 5322, 2.1.1). */
export const MAX_HEADER_CHARACTERS = 998;

/** Whether a header holds ids or URLs, which receivers don't decode. */
export function holdsAddresses(name: string): boolean {
  return /^(message-id|in-reply-to|references|list-[a-z-]+)$/i.test(name);
}
