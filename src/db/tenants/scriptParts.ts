/** What psql would send of a script, or do with it. */
export type ScriptPart = { readonly at: number; readonly text: string } & (
  | { readonly kind: 'statement' }
  /** `copy … from stdin`, with the lines that follow it. */
  | { readonly kind: 'copy'; readonly data: string; readonly dataAt: number }
  /** A command of psql itself, such as `\restrict`. */
  | { readonly kind: 'command' }
);

/**
 * Splits a script as psql does: at semicolons outside of quotes, comments, parentheses and the bodies of SQL functions. It is
 * read no further than it has been run.
 */
export function* partsOf(script: string): Generator<ScriptPart> {
  /** Words, and what else matters for where a statement ends; all other characters are one each. */
  const tokens =
    /--[^\n]*|\/\*|['"();\\]|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*|\s+|[^]/y;
  let at = 0;
  let statement = new Statement();
  const take = (): ScriptPart[] => {
    const { startsAt, isCopyIn } = statement;
    statement = new Statement();
    if (startsAt === undefined) return [];
    const text = script.slice(startsAt, at);
    if (!isCopyIn) return [{ kind: 'statement', at: startsAt, text }];
    const dataAt = endOfLine(script, at);
    const end = /^\\\.\r?$/m.exec(script.slice(dataAt));
    const dataEnd = end ? dataAt + end.index : script.length;
    at = end ? endOfLine(script, dataEnd) : script.length;
    return [{ kind: 'copy', at: startsAt, text, data: script.slice(dataAt, dataEnd), dataAt }];
  };
  while (at < script.length) {
    tokens.lastIndex = at;
    const [token = ''] = tokens.exec(script) ?? [];
    const start = at;
    at += token.length;
    if (token === '\\') {
      at = endOfLine(script, start);
      yield { kind: 'command', at: start, text: script.slice(start, at).trim() };
    } else if (token === '/*') at = endOfComment(script, at);
    else if (!token.startsWith('--') && token.trim() !== '') {
      at = endOfToken(script, token, start);
      if (statement.add(token, start)) yield* take();
    }
  }
  yield* take();
}

/** What has been read of a statement. */
class Statement {
  startsAt: number | undefined;
  isCopyIn = false;
  readonly #first: string[] = [];
  #lastWord = '';
  #parentheses = 0;
  /** `begin … end` and `case … end` in the body of an SQL function. */
  #blocks = 0;

  /** @returns whether the token ends the statement */
  add(token: string, at: number): boolean {
    const isEnd = token === ';' && this.#parentheses === 0 && this.#blocks === 0;
    if (isEnd) return true;
    this.startsAt ??= at;
    if (token === '(') this.#parentheses += 1;
    else if (token === ')') this.#parentheses = Math.max(0, this.#parentheses - 1);
    else this.#addWord(token.toLowerCase());
    return false;
  }

  #addWord(word: string): void {
    if (this.#first.length < 4) this.#first.push(word);
    if (this.#parentheses > 0) return;
    const first = this.#first.join(' ');
    if (/^create (or replace )?(function|procedure)/.test(first)) {
      if (word === 'begin' || (word === 'case' && this.#blocks > 0)) this.#blocks += 1;
      else if (word === 'end') this.#blocks = Math.max(0, this.#blocks - 1);
    }
    if (first.startsWith('copy') && this.#lastWord === 'from' && word === 'stdin') this.isCopyIn = true;
    this.#lastWord = word;
  }
}

/** Where a quoted text ends that begins with the token; the end of the token for all others. */
function endOfToken(script: string, token: string, start: number): number {
  const after = start + token.length;
  if (token === "'" || token === '"') {
    const escapes =
      token === "'" && /[eE]/.test(script.charAt(start - 1)) && !/[\w$]/.test(script.charAt(start - 2));
    return endOfQuotes(script, token, after, escapes);
  }
  if (!/^\$.*\$$/.test(token)) return after;
  const end = script.indexOf(token, after);
  return end < 0 ? script.length : end + token.length;
}

/** Without escapes, a doubled quote is two quoted texts in a row. */
function endOfQuotes(script: string, quote: string, from: number, escapes: boolean): number {
  const mark = escapes ? /\\[^]|''|'/g : new RegExp(quote, 'g');
  mark.lastIndex = from;
  for (let found = mark.exec(script); found; found = mark.exec(script))
    if (found[0] === quote) return mark.lastIndex;
  return script.length;
}

/** Comments may be in comments. */
function endOfComment(script: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  for (let depth = 1; depth > 0;) {
    const found = mark.exec(script);
    if (!found) return script.length;
    depth += found[0] === '/*' ? 1 : -1;
  }
  return mark.lastIndex;
}

/** After the line break. */
function endOfLine(script: string, from: number): number {
  const end = script.indexOf('\n', from);
  return end < 0 ? script.length : end + 1;
}
