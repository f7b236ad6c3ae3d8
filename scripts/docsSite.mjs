// npm run docs:site: the documentation as a static site in site/, with search. Fails for a link that leads nowhere and for a page that
// loads something from another host. `-- --base /rowpost/` is for a site that is not at the root of its host.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'vitepress';
import { fail, prepareDependencies, projectDir } from './project.mjs';
import { SITE_DIR } from './site/pages.mjs';

const { base } = parseArgs({ options: { base: { type: 'string', default: '/' } } }).values;
const site = path.join(projectDir, SITE_DIR);

await prepareDependencies();
await build(path.join(projectDir, 'scripts/site'), { base });

const pages = new Map(filesBelow('.html').map((file) => [file, readFileSync(path.join(site, file), 'utf8')]));
const problems = [...pages].flatMap(([file, html]) => [
  ...brokenLinks(file, html),
  ...(html.includes('&lt;!--') ? [`${file} shows a comment`] : []),
  ...foreignParts(file, html),
]);
for (const file of filesBelow('.css')) problems.push(...foreignStyles(file));
if (problems.length > 0) fail(`the site has ${problems.length} problems:\n  ${problems.join('\n  ')}`);
console.log(`${pages.size} pages in ${SITE_DIR}/, whose links all lead somewhere`);

function filesBelow(extension) {
  return readdirSync(site, { recursive: true }).filter((name) => name.endsWith(extension));
}

function brokenLinks(file, html) {
  return [...html.matchAll(/<a [^>]*?href="([^"]*)"/g)].flatMap(([, href]) => {
    if (/^(https?|mailto):/.test(href)) return [];
    const { pathname, hash } = new URL(href, `http://site${base}${file}`);
    const name = decodeURIComponent(pathname).slice(base.length);
    const target = name === '' || name.endsWith('/') ? `${name}index.html` : name;
    const page = pages.get(target);
    if (page === undefined) return isFile(target) ? [] : [`${file} links to ${href}, which is not there`];
    const anchor = decodeURIComponent(hash.slice(1));
    const isThere = anchor === '' || page.includes(`id="${anchor}"`) || page.includes(`name="${anchor}"`);
    return isThere ? [] : [`${file} links to ${href}, but there is no such heading`];
  });
}

/** Files of the repository that pages link to, such as those of deploy/, become files of the site. */
function isFile(name) {
  if (existsSync(path.join(site, name))) return true;
  if (!statSync(path.join(projectDir, name), { throwIfNoEntry: false })?.isFile()) return false;
  mkdirSync(path.dirname(path.join(site, name)), { recursive: true });
  cpSync(path.join(projectDir, name), path.join(site, name));
  return true;
}

function foreignParts(file, html) {
  const loaded = [
    ...html.matchAll(/<(?:script|img|iframe|source)\b[^>]*?\bsrc="(https?:[^"]*)"/g),
    ...html.matchAll(/<link\b[^>]*?\bhref="(https?:[^"]*)"/g),
  ];
  return loaded.map(([, url]) => `${file} loads ${url}`);
}

function foreignStyles(file) {
  const css = readFileSync(path.join(site, file), 'utf8');
  return [...css.matchAll(/(?:@import|url\()\s*["']?(https?:[^"')]*)/g)].map(
    ([, url]) => `${file} loads ${url}`,
  );
}
