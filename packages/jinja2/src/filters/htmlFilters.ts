import { renderFault } from '../errors.js';
import type { Budget } from '../limits.js';
import type { Evaluation } from '../values/callable.js';
import { Dict } from '../values/dict.js';
import { escape, htmlOf, softText } from '../values/escape.js';
import { iterate, toList, tryIterate } from '../values/iterate.js';
import { repr, str } from '../values/text.js';
import { isTrue } from '../values/truth.js';
import { isText, Markup, textOf, typeName, Undefined, type Value } from '../values/value.js';
import { attributeGetter } from './attributeGetter.js';
import { filter, filterTable, indexArgument, textArgument } from './filter.js';
import { toJson } from './json.js';
import { prettyPrint } from './prettyPrint.js';
import { urlize } from './urlize.js';

/** Joins the input with a separator. With autoescape, one markup item makes the result markup. */
function join(input: Value, evaluation: Evaluation, separator: Value, attribute: Value): Value {
  const { budget, autoescape } = evaluation;
  const get = attributeGetter(attribute, budget);
  const items: Value[] = [];
  for (const item of iterate(input, budget)) items.push(get(item));
  const markup = autoescape && (separator instanceof Markup || items.some((item) => item instanceof Markup));
  const print = (value: Value) => (markup ? htmlOf(value, budget) : textOf(softText(value, budget)));
  const mark = print(separator);
  const parts = items.map((item) => {
    const part = print(item);
    budget.allocate(part.length + mark.length + 1);
    return part;
  });
  return markup ? new Markup(parts.join(mark)) : parts.join(mark);
}

const UNRESERVED_BY_URI = /[!'()*]/g;

function quoteUrl(text: string): string {
  if (!text.isWellFormed()) throw renderFault("'utf-8' codec can't encode a lone surrogate");
  return encodeURIComponent(text).replace(
    UNRESERVED_BY_URI,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Percent-encodes a text (slashes stay), or the pairs of a dict or list as a query string. */
function urlEncode(input: Value, evaluation: Evaluation): Value {
  const { budget } = evaluation;
  const items = isText(input)
    ? undefined
    : input instanceof Dict
      ? input.entries()
      : tryIterate(input, budget);
  if (items === undefined) {
    const text = str(input, budget);
    budget.allocate(text.length * 3);
    return quoteUrl(text).replaceAll('%2F', '/');
  }
  const pairs: string[] = [];
  for (const item of items) {
    const pair = toList(item, budget);
    if (pair.length !== 2)
      throw renderFault(`each item to urlencode must be a pair, not ${pair.length} values`);
    const [key = '', value = ''] = pair.map((part) => {
      const text = str(part, budget);
      budget.allocate(text.length * 3);
      return quoteUrl(text).replaceAll('%20', '+');
    });
    pairs.push(`${key}=${value}`);
  }
  return pairs.join('&');
}

const INVALID_ATTRIBUTE = /[ \t\n\r\f\v/>=]/;

function xmlAttributes(input: Value, autospace: boolean, { budget, autoescape }: Evaluation): Value {
  if (!(input instanceof Dict)) throw renderFault(`'${typeName(input)}' object has no attribute 'items'`);
  const parts: string[] = [];
  for (const [key, value] of input.entries()) {
    if (value === null || value instanceof Undefined) continue;
    const name = textArgument(key, 'an attribute name');
    if (INVALID_ATTRIBUTE.test(name))
      throw renderFault(`Invalid character in attribute name: ${repr(name, budget)}`);
    const part = `${htmlOf(key, budget)}="${htmlOf(value, budget)}"`;
    budget.allocate(part.length);
    parts.push(part);
  }
  const text = (autospace && parts.length > 0 ? ' ' : '') + parts.join(' ');
  return autoescape ? new Markup(text) : text;
}

/** The indentation of one level: a text, or as many spaces. */
function indentText(indent: Value, budget: Budget): string | undefined {
  if (indent === null) return undefined;
  const width = isText(indent) ? textOf(indent).length : Math.max(0, indexArgument(indent));
  budget.checkWidth(width);
  return isText(indent) ? textOf(indent) : ' '.repeat(width);
}

/** Filters for HTML, URLs and other output formats. */
export const HTML_FILTERS = filterTable({
  escape: filter([], (input, { budget }) => escape(input, budget)),
  e: filter([], (input, { budget }) => escape(input, budget)),
  forceescape: filter([], (input, { budget }) => new Markup(htmlOf(str(input, budget), budget))),
  safe: filter([], (input, { budget }) => (input instanceof Markup ? input : new Markup(str(input, budget)))),
  join: filter(['d', 'attribute'], (input, evaluation, separator = '', attribute = null) =>
    join(input, evaluation, separator, attribute),
  ),
  urlencode: filter([], urlEncode),
  xmlattr: filter(['autospace'], (input, evaluation, autospace = true) =>
    xmlAttributes(input, isTrue(autospace), evaluation),
  ),
  urlize: filter(
    ['trim_url_limit', 'nofollow', 'target', 'rel', 'extra_schemes'],
    (input, evaluation, limit = null, nofollow = false, target = null, rel = null, schemes = null) => {
      const { budget } = evaluation;
      const text = urlize(htmlOf(input, budget), {
        limit: limit === null ? undefined : indexArgument(limit),
        nofollow: isTrue(nofollow),
        target: target === null ? undefined : str(target, budget),
        rel: rel === null ? '' : str(rel, budget),
        schemes: schemes === null ? [] : toList(schemes, budget).map((scheme) => str(scheme, budget)),
        budget,
      });
      return evaluation.autoescape ? new Markup(text) : text;
    },
  ),
  tojson: filter(['indent'], (input, { budget }, indent = null) =>
    toJson(input, indentText(indent, budget), budget),
  ),
  pprint: filter([], (input, { budget }) => prettyPrint(input, budget)),
});
