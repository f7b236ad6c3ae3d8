import { Parser, type Handler } from 'htmlparser2';
import { ownValue } from './ownValue.js';

/** Larger HTML is not converted: the parser takes quadratic time for unclosed elements. */
const MAX_HTML_CHARACTERS = 200_000;
const MAX_TAGS_AND_LINES = 20_000;
const MAX_TEXT_CHARACTERS = 400_000;

/** Converts an email's HTML to plain text; empty if there is no text, or too much of either. */
export function plainText(html: string): string {
  if (html.length > MAX_HTML_CHARACTERS) return '';
  if ((html.match(/<\/?[a-z]|\n/gi)?.length ?? 0) > MAX_TAGS_AND_LINES) return '';
  const text = new PlainText();
  new Parser(text).end(html);
  return text.length > MAX_TEXT_CHARACTERS ? '' : text.toString();
}

const UNREAD = new Set([
  'head',
  'script',
  'style',
  'title',
  'template',
  'noscript',
  'select',
  'svg',
  'object',
]);
/** Line breaks before and after an element: 2 leaves an empty line. */
const LINE_BREAKS: Readonly<Record<string, number>> = {
  ...linesOf(2, 'p h1 h2 h3 h4 h5 h6 table ul ol dl blockquote pre hr'),
  ...linesOf(
    1,
    'div tr li dt dd body main section article header footer nav aside form center address figure',
  ),
};
const MAX_INDENTATION = 4;
const RULE = '-'.repeat(40);

/** Writes text while the parser reads, in a single pass, because this runs for every email. */
class PlainText implements Partial<Handler> {
  #text = '';
  /** Line breaks before the next word. */
  #breaks = 0;
  #isSpaced = false;
  /** Nothing has been written after the bullet of a list item. */
  #isAtBullet = false;
  /** Open elements inside a hidden one, including itself. */
  #unread = 0;
  #preformatted = 0;
  #quotations = 0;
  /** The last number of each open list; undefined for bullets. */
  readonly #lists: (number | undefined)[] = [];
  readonly #links: { readonly href: string; readonly start: number }[] = [];

  get length(): number {
    return this.#text.length;
  }

  toString(): string {
    return this.#text;
  }

  onopentag(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.#unread > 0 || UNREAD.has(name) || isHidden(attributes)) {
      this.#unread += 1;
      return;
    }
    // What a list item begins with stands next to its bullet, except for another list.
    const isItem = name === 'ul' || name === 'ol' || name === 'li';
    if (isItem || !this.#isAtBullet) this.#break(ownValue(LINE_BREAKS, name) ?? 0);
    switch (name) {
      case 'a':
        this.#links.push({ href: (attributes['href'] ?? '').trim(), start: this.#text.length });
        return;
      case 'br':
        this.#breaks = Math.min(this.#breaks + 1, 2);
        this.#isSpaced = false;
        return;
      case 'hr':
        this.#write(RULE);
        return;
      case 'img':
        this.ontext(attributes['alt'] ?? '');
        return;
      case 'ul':
      case 'ol':
        // No empty line around a nested list.
        if (this.#lists.length > 0) this.#breaks = Math.min(this.#breaks, 1);
        this.#lists.push(name === 'ol' ? numberOf(attributes['start'], 1) - 1 : undefined);
        return;
      case 'li':
        this.#writeBullet(attributes['value']);
        return;
      case 'blockquote':
        this.#quotations += 1;
        return;
      case 'pre':
        this.#preformatted += 1;
    }
  }

  onclosetag(name: string): void {
    if (this.#unread > 0) {
      this.#unread -= 1;
      return;
    }
    if (name === 'a') this.#writeAddress();
    else if (name === 'td' || name === 'th') this.#isSpaced = true;
    else if (name === 'ul' || name === 'ol') this.#lists.pop();
    else if (name === 'blockquote') this.#quotations -= 1;
    else if (name === 'pre') this.#preformatted -= 1;
    if (name === 'li') this.#isAtBullet = false;
    if (this.#isAtBullet) return;
    const breaks = ownValue(LINE_BREAKS, name) ?? 0;
    this.#break(this.#lists.length > 0 ? Math.min(breaks, 1) : breaks);
  }

  ontext(text: string): void {
    if (this.#unread > 0) return;
    if (this.#preformatted > 0) {
      const [first = '', ...lines] = text.split('\n');
      this.#write(first);
      for (const line of lines) {
        this.#text += `\n${this.#margin()}`;
        this.#text += line;
      }
      return;
    }
    // Not \s, which includes the non-breaking space.
    const words = text.replace(/[ \t\n\f\r]+/g, ' ');
    if (words.startsWith(' ')) this.#isSpaced = true;
    const trimmed = words.slice(words.startsWith(' ') ? 1 : 0, words.endsWith(' ') ? -1 : undefined);
    if (trimmed === '') return;
    this.#write(trimmed);
    this.#isSpaced = words.endsWith(' ');
  }

  #break(lines: number): void {
    if (lines === 0) return;
    this.#breaks = Math.max(this.#breaks, lines);
    this.#isSpaced = false;
  }

  #write(words: string): void {
    if (words === '') return;
    if (this.#text === '') this.#text = this.#margin();
    else if (this.#breaks > 0) this.#text += '\n'.repeat(this.#breaks) + this.#margin();
    else if (this.#isSpaced) this.#text += ' ';
    this.#breaks = 0;
    this.#isSpaced = false;
    this.#isAtBullet = false;
    this.#text += words;
  }

  #margin(): string {
    return '> '.repeat(Math.min(this.#quotations, MAX_INDENTATION));
  }

  #writeBullet(value: string | undefined): void {
    const depth = this.#lists.length;
    const last = this.#lists[depth - 1];
    const number = last === undefined ? undefined : numberOf(value, last + 1);
    if (number !== undefined) this.#lists[depth - 1] = number;
    const indentation = '  '.repeat(Math.min(Math.max(0, depth - 1), MAX_INDENTATION));
    this.#write(`${indentation} ${number === undefined ? '*' : `${number}.`}`);
    this.#isSpaced = true;
    this.#isAtBullet = true;
  }

  /** Writes a link's URL after its text, unless they are the same. */
  #writeAddress(): void {
    const { href, start } = this.#links.pop() ?? { href: '', start: 0 };
    if (href === '' || href.startsWith('#')) return;
    const shown = this.#text.slice(start).trim();
    if ([shown, `${shown}/`, `mailto:${shown}`, `tel:${shown}`].includes(href)) return;
    if (shown !== '') this.#isSpaced = true;
    this.#write(`<${href}>`);
  }
}

function numberOf(text: string | undefined, fallback: number): number {
  return /^-?\d{1,9}$/.test(text ?? '') ? Number(text) : fallback;
}

function isHidden({ hidden, style }: Readonly<Record<string, string>>): boolean {
  return hidden !== undefined || (style !== undefined && /display\s*:\s*none/i.test(style));
}

function linesOf(breaks: number, names: string): Record<string, number> {
  return Object.fromEntries(names.split(' ').map((name) => [name, breaks]));
}
