import { budgetOf, textOf, type FilterHandler } from './searchFilters.js';

/** Characters that each byte of UTF-8 may become. */
const CHARACTERS_OF_BYTE = 3;

/** Filters of LiquidJS that charge for nothing, and how many characters they may make of a text. */
const UNCHARGED: Readonly<Record<string, (text: string) => number>> = {
  url_encode: encodedLength,
  cgi_escape: encodedLength,
  uri_escape: encodedLength,
  url_decode: ({ length }) => length,
  slugify: ({ length }) => length,
};

/** Of a text of 12 million characters, encoding makes one of 100 million at once, for which V8 would end the process. */
function encodedLength(text: string): number {
  return CHARACTERS_OF_BYTE * Buffer.byteLength(text);
}

/** LiquidJS's own, which charge for what they make before they make it. */
export function textFilters(filterOf: (name: string) => FilterHandler): Record<string, FilterHandler> {
  return Object.fromEntries(
    Object.entries(UNCHARGED).map(([name, lengthOf]) => {
      const convert = filterOf(name);
      const charged: FilterHandler = function (value, ...rest) {
        const text = textOf(value);
        budgetOf(this.context).allocate(lengthOf(text));
        return convert.call(this, text, ...rest);
      };
      return [name, charged];
    }),
  );
}
