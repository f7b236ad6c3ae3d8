import { readFileSync } from 'node:fs';

/** The version in node_modules. */
export function installedVersion(library: string): string {
  const manifest = new URL(`../../node_modules/${library}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}

/** For the tests of one library: fails with its version and `change`, what it did to a private part, unless `holds`. */
export function contractOf(library: string): (holds: boolean, change: string) => void {
  return (holds, change) => {
    if (!holds) throw new Error(`${library} ${installedVersion(library)}: ${change}`);
  };
}
