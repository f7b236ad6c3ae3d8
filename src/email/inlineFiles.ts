/** The storage keys of files that the HTML references as `cid:<storage key>`, which become part of the email. */
export function filesShown(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/cid:([\w-]{1,64})/g), ([, key = '']) => key));
}
