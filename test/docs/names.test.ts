import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { DELIVERY_ERRORS } from '../../src/api/console/deliveryErrorTable.js';
import { COMMANDS, usageLines } from '../../src/commands/commandLine.js';
import { SETTINGS } from '../../src/config/settings.js';
import { CARRIER_SETTINGS } from '../../src/process/loadConfig.js';
import { ERROR_CODES } from '../../src/foundation/errors.js';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  'README.md',
  'fault/README.md',
  ...readdirSync(new URL('docs/', ROOT), { encoding: 'utf8', recursive: true }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));
const read = (page: string): string => readFileSync(new URL(page, ROOT), 'utf8');

const ours = new Set([
  ...[...Object.values(SETTINGS), ...CARRIER_SETTINGS].flatMap(({ env }) => [env, `${env}_FILE`]),
  ...Object.keys(ERROR_CODES),
  ...DELIVERY_ERRORS.flatMap(({ codes }) => codes.match(/\w+/g) ?? []),
]);
/** Warnings of previews, variables of tests and of deploy/compose.yaml, and what other software calls so. */
const OTHERS =
  /^(HTML_CLIPPED|UNKNOWN_NAME|FILTER_UNUSED|LIST_CUT|ATTACHMENT_NONE|FOREIGN_TAG|ADDRESS_INVALID|NODE_ENV|PUBLISH_ADDRESS|(OTEL|AWS)_\w+|CARRIER_[45]\d\d|SMTP_[45]\d\d)$/;

/** What migrations create: tables, views, functions. */
const MIGRATIONS = readdirSync(new URL('migrations/', ROOT), { encoding: 'utf8', recursive: true })
  .filter((name) => /\.(sql|js)$/.test(name))
  .map((name) => read(`migrations/${name}`))
  .join('\n');

describe('names in the documentation', () => {
  for (const page of PAGES) {
    it(`${page} names settings and codes that exist`, () => {
      const named = [...read(page).matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[`=]/g)].map(
        ([, name = '']) => name,
      );
      expect(named.filter((name) => !ours.has(name) && !OTHERS.test(name))).to.deep.equal([]);
    });

    it(`${page} names tables and functions of Rowpost's schemas that exist`, () => {
      const named = [...read(page).matchAll(/\b(rowpost(?:_tenant|_directory)?\.[a-z_]+)\b(?!\.)/g)]
        .map(([, name = '']) => name)
        .filter((name) => !/^rowpost\.(env|rules|dump|json|pem|traceparent)$/.test(name));
      expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(MIGRATIONS))).to.deep.equal([]);
    });

    it(`${page} names commands and options that exist`, () => {
      const missing = [
        ...read(page).matchAll(/\b(?:rowpost|node dist\/main\.js) (?!rowpost )([a-z]+)((?: [^`\n|]*)?)/g),
      ].flatMap(([text, name = '', rest = '']) => {
        const command = Object.entries(COMMANDS).find(([one]) => one === name)?.[1];
        // Prose such as "rowpost connects" is not a command.
        if (!command) return rest.includes(' --') ? [text] : [];
        const usage = [...usageLines(name, command), '--help'].join('\n');
        return [...rest.split(/ #| && /)[0]!.matchAll(/ (--[a-z-]+)/g)].flatMap(([, option = '']) =>
          usage.includes(option) ? [] : [text],
        );
      });
      expect(missing).to.deep.equal([]);
    });
  }
});

describe('docs/explanation/security.md', () => {
  it('has every cookie', () => {
    const api = new URL('src/api/', ROOT);
    const sources = readdirSync(api, { encoding: 'utf8', recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(name, api), 'utf8'))
      .filter((text) => /cookie/i.test(text));
    const made = new Set(sources.flatMap((text) => text.match(/\browpost_[a-z]+/g) ?? []));
    const [, table = ''] = /^\| Cookie \|(.*?)\n\n/ms.exec(read('docs/explanation/security.md'))!;
    expect(table.match(/(?<=`)rowpost_[a-z]+/g)).to.have.members([...made]);
  });
});
