/** Names and IPv4 addresses, or an IPv6 address. URLs may have other hosts, such as `*.example.com`, which no browser calls. */
const HOSTNAME = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^\[[0-9a-f:.]+\]$/;

/** An http or https URL without user, query and fragment, in the one spelling that browsers send. */
export interface WebAddress {
  /** Scheme, host and port as in the header `Origin`: lower case, punycode, no default port. */
  readonly origin: string;
  /** Empty, or begins with a slash and doesn't end in one. */
  readonly path: string;
}

/** @returns undefined if the text is something else */
export function parseWebAddress(text: string): WebAddress | undefined {
  const given = text.trim();
  // Line breaks would be dropped, and join two addresses.
  if (!/^https?:/i.test(given) || /\s/.test(given) || !URL.canParse(given)) return undefined;
  const { origin, hostname, pathname, search, hash, username, password } = new URL(given);
  if (!HOSTNAME.test(hostname) || search + hash + username + password !== '') return undefined;
  return { origin, path: pathname.replace(/\/+$/, '') };
}
