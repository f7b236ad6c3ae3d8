import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { codePointLength, sliceCodePoints } from '../values/codePoints.js';
import { escapeHtml } from '../values/escape.js';
import { SPACES } from '../values/whitespace.js';

export interface UrlizeOptions {
  /** Maximum length of a link's text. */
  readonly limit: number | undefined;
  readonly nofollow: boolean;
  readonly target: string | undefined;
  readonly rel: string;
  readonly schemes: readonly string[];
  readonly budget: Budget;
}

const SCHEME = /^[\p{L}\p{N}_.+-]{2,}:\/{0,2}$/u;
const W = '[\\p{L}\\p{N}_%-]';
const HTTP = new RegExp(
  '^(?:' +
    `(?:https?://|www\\.)(?:(?:${W}+\\.)+)?(?:[a-z]{2,63}|xn--[\\p{L}\\p{N}_%]{2,59})` +
    `|(?:${W}{2,63}\\.)+(?:com|net|int|edu|gov|org|info|mil)` +
    '|https?://(?:\\p{Nd}{1,3}(?:\\.\\p{Nd}{1,3}){3}|\\[(?:[\\da-f]{0,4}:){2}(?:[\\da-f]{0,4}:?){1,6}\\])' +
    ')(?::\\p{Nd}{1,5})?(?:[/?#].*)?$',
  'isu',
);
const EMAIL = /^.+@[\p{L}\p{N}_][\p{L}\p{N}_.-]*\.[\p{L}\p{N}_]+$/su;

/** Maximum length of a word that is checked for being an address. */
const LONGEST_WORD = 4_096;

const BRACKETS = [['(', ')'], ['<', '>'], ['&lt;', '&gt;']] as const; // prettier-ignore

/** Turns web and email addresses in escaped text into links, like Jinja2's `urlize`. */
export function urlize(escaped: string, options: UrlizeOptions): string {
  const { budget } = options;
  for (const scheme of options.schemes) {
    if (!SCHEME.test(scheme)) throw renderFault(`'${scheme}' is not a valid URI scheme prefix.`);
  }
  budget.allocate(escaped.length);
  const attributes = linkAttributes(options);
  const words = escaped.split(SPACES).map((word, i) => {
    const isSpaces = i % 2 === 1;
    const linked = isSpaces || word.length > LONGEST_WORD ? word : linkWord(word, attributes, options);
    budget.allocate(linked.length);
    return linked;
  });
  return words.join('');
}

function linkAttributes({ rel, nofollow, target }: UrlizeOptions): string {
  const parts = new Set([
    ...rel.split(/\s+/).filter((part) => part !== ''),
    'noopener',
    ...(nofollow ? ['nofollow'] : []),
  ]);
  const relText = Array.from(parts).sort().join(' ');
  return ` rel="${escapeHtml(relText)}"${target ? ` target="${escapeHtml(target)}"` : ''}`;
}

function linkWord(word: string, attributes: string, options: UrlizeOptions): string {
  const { head, middle, tail } = splitPunctuation(word);
  return head + link(middle, attributes, options) + tail;
}

/** Strips surrounding brackets and punctuation from a word; a closing bracket with a match inside stays. */
function splitPunctuation(word: string): { head: string; middle: string; tail: string } {
  const head = /^(?:[(<]|&lt;)+/.exec(word)?.[0] ?? '';
  let middle = word.slice(head.length);
  let tail = trailingPunctuation(middle);
  middle = middle.slice(0, middle.length - tail.length);
  for (const [open, close] of BRACKETS) {
    const opened = count(middle, open);
    if (opened <= count(middle, close)) continue;
    for (let i = Math.min(opened, count(tail, close)); i > 0; i--) {
      const end = tail.indexOf(close) + close.length;
      middle += tail.slice(0, end);
      tail = tail.slice(end);
    }
  }
  return { head, middle, tail };
}

function trailingPunctuation(text: string): string {
  let end = text.length;
  for (;;) {
    if (')>.,'.includes(text.charAt(end - 1)) && end > 0) end--;
    else if (text.endsWith('&gt;', end)) end -= 4;
    else return text.slice(end);
  }
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

function link(text: string, attributes: string, { limit, schemes }: UrlizeOptions): string {
  if (HTTP.test(text)) {
    const url = /^https?:\/\//.test(text) ? text : `https://${text}`;
    const shown =
      limit !== undefined && codePointLength(text) > limit ? `${sliceCodePoints(text, 0, limit)}...` : text;
    return `<a href="${url}"${attributes}>${shown}</a>`;
  }
  if (text.startsWith('mailto:') && EMAIL.test(text.slice(7)))
    return `<a href="${text}">${text.slice(7)}</a>`;
  if (!/^(?:www\.|@)|:/.test(text) && EMAIL.test(text)) return `<a href="mailto:${text}">${text}</a>`;
  let linked = text;
  for (const scheme of schemes) {
    if (linked !== scheme && linked.startsWith(scheme))
      linked = `<a href="${linked}"${attributes}>${linked}</a>`;
  }
  return linked;
}
