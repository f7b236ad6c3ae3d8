// The site of the documentation: `npm run docs:site`. Its pages are the Markdown files of the repository, under the same paths.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGES, slugOf, SITE_DIR } from '../pages.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export default {
  title: 'Rowpost',
  description: 'Sends an email if, and only if, a PostgreSQL transaction commits.',
  lang: 'en-US',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '../..',
  outDir: path.join(root, SITE_DIR),
  cacheDir: path.join(root, 'node_modules/.cache/vitepress'),
  srcExclude: ['**/node_modules/**', 'bench/peers/**'],
  rewrites: Object.fromEntries(PAGES.map((page) => [page, page.replace(/README\.md$/, 'index.md')])),
  // scripts/docsSite.mjs checks all links of the result, with their anchors.
  ignoreDeadLinks: true,
  markdown: {
    html: false,
    linkify: false,
    anchor: { slugify: slugOf },
    config: (markdown) => {
      // Braces of templates are text, not Vue's.
      const render = markdown.renderer.render.bind(markdown.renderer);
      markdown.renderer.render = (...given) => render(...given).replaceAll('{{', '&#123;&#123;');
      // They mark what is written from the source.
      markdown.core.ruler.before('block', 'comments', (state) => {
        state.src = state.src.replaceAll(/^<!-- [a-z ]+ -->$/gm, '');
      });
      markdown.core.ruler.push('links to files', ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === 'link_open' ? token.attrGet('href') : null;
          if (!href || /^(https?:|#)/.test(href)) continue;
          if (/\.md(#|$)/.test(href))
            token.attrSet('href', href.replace(/(^|\/)README\.md(?=#|$)/, '$1index.md'));
          // Not a page: VitePress leaves links with a target as they are.
          else token.attrSet('target', '_blank');
        }
      });
    },
  },
  vite: { build: { target: 'es2022' } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Documentation', link: '/docs/' },
      { text: 'First email', link: '/docs/tutorials/first-email' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: sidebar(),
  },
};

/** The index of docs/README.md: each heading with the links below it. */
function sidebar() {
  const index = readFileSync(path.join(root, 'docs/README.md'), 'utf8');
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf('\n')),
      collapsed: false,
      items: [...section.matchAll(/\[([^\]]+)\]\(([^)#]+)\.md\)/g)].map(([, text, file]) => ({
        text,
        link: path.posix.join('/docs', file).replace(/README$/, ''),
      })),
    }));
}
