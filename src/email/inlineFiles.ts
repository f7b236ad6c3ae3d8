/** The storage keys of the files that HTML shows, as `cid:<storage key>`: those are part of the email. */
export function filesShown(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/cid:([\w-]{1,64})/g), ([, key = '']) => key));
}
