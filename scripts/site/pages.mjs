// Which files are pages of the site, and the anchors of their headings.
import { execFileSync } from 'node:child_process';

export const SITE_DIR = 'site';

/** All Markdown files of the repository. */
export const PAGES = execFileSync('git', ['ls-files', '*.md'], {
  cwd: new URL('../../', import.meta.url),
  encoding: 'utf8',
})
  .trim()
  .split('\n');

/** As code hosts make them, so that the same links work there. */
export function slugOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}
