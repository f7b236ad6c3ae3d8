import { compile, type FormatCallback } from 'html-to-text';

/**
 * No text is made of larger HTML. Elements that are never closed, and tags that close nothing, take quadratic time: almost a
 * second for so many.
 */
const MAX_HTML_CHARACTERS = 200_000;
const MAX_TAGS_AND_LINES = 20_000;
/** What lies deeper is left out: the walk is recursive, and each quotation and list copies the text in it. */
const MAX_DEPTH = 60;
/** A quotation puts a mark before each of its lines. */
const MAX_TEXT_CHARACTERS = 400_000;

const alternative: FormatCallback = (image, _walk, builder) => {
  const { alt } = image.attribs as { readonly alt?: string };
  if (alt) builder.addInline(alt);
};

/** Letters are laid out in tables: what stands in neighbouring cells are different words. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(' ');
};

const heading = { options: { uppercase: false } };
const isHidden = ['[style*="display:none"]', '[style*="display: none"]', '[hidden]', 'title'];

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: MAX_HTML_CHARACTERS, maxDepth: MAX_DEPTH },
  formatters: { alternative, cell },
  selectors: [
    ...isHidden.map((selector) => ({ selector, format: 'skip' })),
    {
      selector: 'a',
      options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['<', '>'], noAnchorUrl: true },
    },
    { selector: 'img', format: 'alternative' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...heading })),
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
    { selector: 'tr', format: 'block' },
  ],
});

/** A letter's text without its markup; empty when there is none, or too much of either. */
export function plainText(html: string): string {
  if (html.length > MAX_HTML_CHARACTERS) return '';
  if ((html.match(/<\/?[a-z]|\n/gi)?.length ?? 0) > MAX_TAGS_AND_LINES) return '';
  const text = convert(html).trim();
  return text.length > MAX_TEXT_CHARACTERS ? '' : text;
}
