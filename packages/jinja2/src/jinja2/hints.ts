import { ownValue } from '../ownValue.js';
import { closestName } from '../suggestion.js';
import { DATE_HINT } from '../values/attributes.js';
import { describeType, type Token } from './tokens.js';

/** Suggestions for authors used to Liquid or other languages. */

const SET_HINT = 'in Jinja2 write {% set name = value %}';

const TRANSLATION_HINT = 'texts are not translated here: write one template for each language';

const TAG_HINTS: Readonly<Record<string, string>> = {
  assign: SET_HINT,
  let: SET_HINT,
  var: SET_HINT,
  capture: 'in Jinja2 write {% set name %}…{% endset %}',
  endcapture: 'in Jinja2 write {% set name %}…{% endset %}',
  elsif: 'in Jinja2 write {% elif %}',
  elseif: 'in Jinja2 write {% elif %}',
  unless: 'in Jinja2 write {% if not … %}',
  endunless: 'in Jinja2 write {% endif %}',
  case: 'in Jinja2 write {% if … %}{% elif … %}{% endif %}',
  when: 'in Jinja2 write {% elif … %}',
  comment: 'in Jinja2 write {# … #}',
  endcomment: 'in Jinja2 write {# … #}',
  cycle: 'in Jinja2 write {{ loop.cycle(…) }}',
  increment: 'in Jinja2 write {% set ns.n = ns.n + 1 %} with a namespace()',
  decrement: 'in Jinja2 write {% set ns.n = ns.n - 1 %} with a namespace()',
  echo: 'in Jinja2 write {{ … }}',
  foreach: 'in Jinja2 write {% for x in list %}',
  tablerow: 'in Jinja2 write {% for %} with the batch filter',
  render: 'in Jinja2 write {% include "name" %}',
  break: 'Jinja2 has no break: filter the list with {% for x in list if … %}',
  continue: 'Jinja2 has no continue: use {% if %} or {% for x in list if … %}',
  do: 'write {% set _ = … %}',
  trans: TRANSLATION_HINT,
  pluralize: TRANSLATION_HINT,
  endtrans: TRANSLATION_HINT,
};

export function tagHint(tag: string): string | undefined {
  return ownValue(TAG_HINTS, tag);
}

const FILTER_HINTS: Readonly<Record<string, string>> = {
  append: 'use ~ to join text',
  prepend: 'use ~ to join text',
  plus: 'use +',
  minus: 'use -',
  times: 'use *',
  divided_by: 'use / or //',
  modulo: 'use %',
  size: 'use | length',
  downcase: 'use | lower',
  upcase: 'use | upper',
  strip: 'use | trim',
  strip_html: 'use | striptags',
  url_encode: 'use | urlencode',
  json: 'use | tojson',
  where: "use | selectattr('name', 'eq', value)",
  split: "use the method: text.split(',')",
  sort_natural: 'use | sort',
  uniq: 'use | unique',
  escape_once: 'use | e',
  currency: "use | format_currency('EUR')",
  money: "use | format_currency('EUR')",
  number_format: 'use | format_number(2)',
  strftime: DATE_HINT,
};

export function filterHint(name: string, filters: Iterable<string>): string | undefined {
  return ownValue(FILTER_HINTS, name) ?? spellingHint(name, filters);
}

export function spellingHint(name: string, names: Iterable<string>): string | undefined {
  const closest = closestName(name, names);
  return closest === undefined ? undefined : `did you mean ${closest}?`;
}

/** A hint about a misplaced keyword. */
function wordHint(word: string): string | undefined {
  switch (word) {
    case 'contains':
      return "Jinja2 has no 'contains': write {% if x in y %}";
    case 'elsif':
    case 'elseif':
      return tagHint(word);
    case 'if':
      return 'in Jinja2 write {% elif %}';
    default:
      return undefined;
  }
}

export function nameHint(name: string): string | undefined {
  if (name === '_' || name === 'gettext') return TRANSLATION_HINT;
  return name === 'forloop' ? "Jinja2's loop variable is called loop" : undefined;
}

/** A hint about a token where `expected` should be. */
export function tokenHint(expected: string, { type, value }: Token): string | undefined {
  if (type === 'name') return wordHint(value);
  if (type === '}' && expected === ':') return 'within a tag, write names without {{ }}';
  if (type === 'string' || type === 'integer' || type === 'float') return argumentHint(expected);
  if (type === '|') return "write 'or'";
  if (type === ':') return colonHint(expected);
  if (type !== '=' || expected === 'in') return undefined;
  if (expected === ':') return "write ':' between a key and its value";
  return expected === describeType('variable_end')
    ? `write == to compare; to assign, ${SET_HINT}`
    : 'write == to compare';
}

function colonHint(expected: string): string | undefined {
  if (expected === 'in') return undefined;
  return argumentHint(expected) ?? "write '=' between a name and its value";
}

/** A hint about a value, or what may introduce one, where the tag should end. */
function argumentHint(expected: string): string | undefined {
  const isEnd = expected === describeType('variable_end') || expected === describeType('block_end');
  return isEnd ? 'in Jinja2 write filter arguments in parentheses: | name(x)' : undefined;
}

/** A hint about what follows the name in a `{% set %}` without `=`. */
export function setHint({ type }: Token): string {
  return type === '[' ? 'to change an item, write {% set _ = name.update({key: value}) %}' : SET_HINT;
}

/** A hint about a template that ends within an expression, where `expected` should be. */
export function endHint(expected: string): string | undefined {
  if (expected === describeType('variable_end')) return 'close it with }}';
  return expected === describeType('block_end') ? 'close it with %}' : undefined;
}

export const COMMENT_HINT = '{# begins a comment; in CSS put a space between { and #';

const TYPOGRAPHIC_QUOTES = '“”„‘’«»';

/** A hint about a character that is not part of the language. */
export function characterHint(source: string, position: number): string | undefined {
  if (source.startsWith('&&', position)) return "write 'and'";
  if (source.startsWith('{{#', position - 2))
    return 'in Jinja2 write {% for x in list %}…{% endfor %}, {% if … %}…{% endif %}';
  if (source.charAt(position) === '!') return "write 'not'";
  if (source.charAt(position) === '$') return 'names are written without $';
  if (TYPOGRAPHIC_QUOTES.includes(source.charAt(position))) return 'write straight quotes: "…" or \'…\'';
  return source.charAt(position) === '?' ? "write 'a if condition else b'" : undefined;
}
