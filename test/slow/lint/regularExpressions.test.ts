import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import ts from 'typescript';
import { cpuTimer } from '../../support/cpuTime.js';

const ROOT = new URL('../../../', import.meta.url);
const FOLDERS = ['src/', 'packages/jinja2/src/'];

/** Those that take quadratic time for some text, and why they get no long one. */
const SHORT_TEXTS: ReadonlyMap<string, string> = new Map([
  [String.raw`/\bVersion\/.*\bSafari\//`, 'sessions keep 300 characters of a User-Agent'],
  [String.raw`/^(.+?)_[a-z]{2,3}(?:_[A-Za-z0-9]{2,8})*$/`, 'names of email types have 200 characters'],
  [String.raw`/^(.*?)\s*<\s*([^<>]*?)\s*>$/`, 'in addresses, any space was made one'],
  [String.raw`/0+$/`, 'a number'],
  [String.raw`/(?<=\bpassword\s+)'[^]*/i`, 'a statement of ours'],
  [String.raw`/ for table "(.+)"$/`, 'a message that PostgreSQL makes of names'],
  [String.raw`/^\/+|\/+$/g`, 'a setting'],
  [String.raw`/\/+$/`, 'a setting, or the base URL of a region'],
  [String.raw`/\bsender\b.*\bvalid/i`, 'a message of Brevo'],
  [String.raw`/(?:^\s*|;\s*q=)(\d+)[^,]*;\s*(?:w|window)=(\d+)/i`, 'a header that is cut'],
]);

/** Quadratic time for as many takes a hundred milliseconds or more, linear time a few. */
const CHARACTERS = 40_000;
const MAX_MS = 25;
/** Of a text that takes far too long, fewer show it. */
const FEW_CHARACTERS = 4_000;

/** Repeated, these are what most patterns with two loops over the same characters take long for. */
const REPEATED = [
  'a',
  ' ',
  '0',
  '"',
  "'",
  '<',
  '\\',
  '/',
  '_',
  '-',
  '.',
  ',',
  '\n',
  ' a',
  'a.',
  'a ',
  '_a',
  '"a',
  'é',
];
/** In no pattern. */
const BETWEEN = '\ue000';
const BEGINNINGS = ['', 'a', '"', '<', 'a '];

interface Found {
  readonly literal: string;
  readonly file: string;
}

function literals(): readonly Found[] {
  const found: Found[] = [];
  for (const folder of FOLDERS) {
    for (const name of readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const file = `${folder}${name}`;
      const source = ts.createSourceFile(
        file,
        readFileSync(new URL(file, ROOT), 'utf8'),
        ts.ScriptTarget.Latest,
      );
      const visit = (node: ts.Node): void => {
        if (ts.isRegularExpressionLiteral(node)) found.push({ literal: node.text, file });
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
  }
  return found;
}

function compile(literal: string): RegExp {
  const end = literal.lastIndexOf('/');
  return new RegExp(literal.slice(1, end), literal.slice(end + 1));
}

/** The texts that stand in a pattern: ` for table "`, for example. */
function textsIn(literal: string): readonly string[] {
  const plain = literal
    .slice(1, literal.lastIndexOf('/'))
    .replace(/\\[bBdDsSwW]|\\p\{\w+\}|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|:)|[{]\d+(?:,\d*)?[}]/g, BETWEEN)
    .replace(/\\(.)/g, '$1');
  return [...new Set(plain.split(/[\ue000^$.*+?()|]+/))].filter((text) => text !== '').slice(0, 4);
}

/** @returns a text that takes too long */
function takesLong(literal: string): string | undefined {
  const pattern = compile(literal);
  const texts = textsIn(literal);
  for (const repeated of [...REPEATED, ...texts]) {
    for (const beginning of [...BEGINNINGS, ...texts]) {
      for (const characters of [FEW_CHARACTERS, CHARACTERS]) {
        const text = `${beginning}${repeated.repeat(characters / repeated.length)}${BETWEEN}`;
        const run = (): number => {
          const cpuMs = cpuTimer();
          text.search(pattern);
          return cpuMs();
        };
        // A second time, since anything may have run in the first one.
        if (run() > MAX_MS && run() > MAX_MS)
          return `${JSON.stringify(beginning)} and ${JSON.stringify(repeated)} repeated`;
      }
    }
  }
  return undefined;
}

/** One took 40 s for the sender of an email type, in which nobody else had a response. */
describe('regular expressions', () => {
  const found = literals();

  it('take time in proportion to the length of the text, unless it is short', () => {
    const slow = new Map<string, string>();
    for (const { literal, file } of found) {
      if (slow.has(literal) || SHORT_TEXTS.has(literal)) continue;
      const text = takesLong(literal);
      if (text !== undefined) slow.set(literal, `${file}: ${text}`);
    }
    expect(Object.fromEntries(slow)).to.deep.equal({});
  });

  it('are found by this test if they are quadratic', () => {
    for (const literal of [
      String.raw`/^"?([\p{L}\p{N} .,&'-]+?)"?\s*</u`,
      String.raw`/\s+$/`,
      String.raw`/<a.*>b/`,
    ])
      expect(takesLong(literal), literal).not.to.equal(undefined);
  });

  it('are no exceptions without being there', () => {
    const all = new Set(found.map(({ literal }) => literal));
    expect([...SHORT_TEXTS.keys()].filter((literal) => !all.has(literal))).to.deep.equal([]);
  });
});
