import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';

const ROOT = new URL('../../', import.meta.url);
const SOURCES = ['src/api/console/', 'src/control/objects/', 'src/control/roles/', 'src/email/carriers/'];

/** All texts that the console may show: its views, and what they are given. */
const TEXTS = SOURCES.flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { encoding: 'utf8', recursive: true })
    .filter((name) => /\.(liquid|ts)$/.test(name))
    .map((name) => readFileSync(new URL(folder + name, ROOT), 'utf8')),
).join('\n');

describe('docs/how-to/console.md and console-people.md', () => {
  const page = ['console', 'console-people']
    .map((name) => readFileSync(new URL(`docs/how-to/${name}.md`, ROOT), 'utf8'))
    .join('\n');
  const labels = [...page.matchAll(/(?<![*\w])\*([^*\n]+)\*(?!\*)/g)].map(([, label]) => label!);

  it('names buttons, links and states as the console does', () => {
    expect(labels).to.have.lengthOf.above(20);
    expect(labels.filter((label) => !TEXTS.includes(label))).to.deep.equal([]);
  });

  it('has a section for each page of the navigation', () => {
    const names = [...TEXTS.matchAll(/<a href="\/console\/\w+"\{%[^>]*>([^<{]+)<\/a>/g)].map(
      ([, name]) => name!,
    );
    expect(names).to.include.members(['Deliveries', 'Why?', 'Tenants']);
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!);
    const missing = names.filter((name) => !sections.some((heading) => heading.startsWith(name)));
    expect(missing).to.deep.equal([]);
  });
});
