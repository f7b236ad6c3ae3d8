import type { TemplateLimits } from '../limits.js';
import { positionAt, type Fault } from '../errors.js';
import type { Call, Data, Expression, FilterCall, Output, Parameter, Statement, Target } from './ast.js';
import { ExpressionParser } from './expressionParser.js';
import { setHint, tagHint } from './hints.js';
import { tokenize } from './lexer.js';
import { LoadParser } from './loadParser.js';
import { TokenStream, type NodeCount } from './tokenStream.js';

/**
 * Parses the statements of a template, whose source must be normalized.
 * @param count the node count of all templates that are compiled together
 * @throws Fault of kind syntax or limit
 */
export function parseTemplate(
  source: string,
  limits: TemplateLimits,
  count: NodeCount,
): readonly Statement[] {
  return new StatementParser(new TokenStream(tokenize(source), limits, count), source).parse();
}

class StatementParser {
  private readonly expressions: ExpressionParser;
  private readonly loads: LoadParser;
  /** The open tags, and the tags that may end each body being parsed. */
  private readonly openTags: { readonly tag: string; readonly offset: number }[] = [];
  private readonly endTags: (readonly string[])[] = [];

  constructor(
    private readonly stream: TokenStream,
    private readonly source: string,
  ) {
    this.expressions = new ExpressionParser(stream);
    this.loads = new LoadParser(stream, this.expressions);
  }

  parse(): readonly Statement[] {
    return this.parseBody([]);
  }

  /** Statements up to one of the given tags (whose name is then the current token), or to the end. */
  private parseBody(ends: readonly string[]): Statement[] {
    const { stream } = this;
    const body: Statement[] = [];
    let parts: (Data | Expression)[] = [];
    const flush = () => {
      const [first] = parts;
      if (first !== undefined) body.push({ kind: 'output', parts, offset: first.offset } satisfies Output);
      parts = [];
    };
    if (ends.length > 0) this.endTags.push(ends);
    while (!stream.is('eof')) {
      stream.count();
      const token = stream.next();
      if (token.type === 'data') {
        parts.push({ kind: 'data', text: token.value, offset: token.offset });
      } else if (token.type === 'variable_begin') {
        parts.push(this.expressions.parseTuple());
        stream.expect('variable_end');
      } else {
        flush();
        if (ends.length > 0 && stream.isName(...ends)) {
          this.endTags.pop();
          return body;
        }
        body.push(this.parseStatement());
        stream.expect('block_end');
      }
    }
    flush();
    if (ends.length > 0) throw this.endOfTemplate();
    return body;
  }

  /** Parses the body of a tag and consumes the tag that ends it. @returns that tag's name */
  private parseBlock(...ends: readonly string[]): { body: Statement[]; end: string } {
    this.endTag();
    return this.parseBlockBody(...ends);
  }

  /** Consumes the end of a tag that has a body. */
  private endTag(hint?: string): void {
    this.stream.skipIf(':');
    this.stream.expect('block_end', hint);
  }

  private parseBlockBody(...ends: readonly string[]): { body: Statement[]; end: string } {
    const body = this.stream.nested(() => this.parseBody(ends));
    return { body, end: this.stream.next().value };
  }

  private parseStatement(): Statement {
    const { stream } = this;
    const token = stream.current;
    if (token.type !== 'name') throw stream.fail('tag name expected');
    const parse = this.parserOf(token.value);
    if (parse === undefined) throw this.unknownTag(token.value, token.offset);
    stream.next();
    this.openTags.push({ tag: token.value, offset: token.offset });
    const statement = parse(token.offset);
    this.openTags.pop();
    return statement;
  }

  private parserOf(tag: string): ((offset: number) => Statement) | undefined {
    switch (tag) {
      case 'if':
        return (offset) => this.parseIf(offset);
      case 'for':
        return (offset) => this.parseFor(offset);
      case 'set':
        return (offset) => this.parseSet(offset);
      case 'with':
        return (offset) => this.parseWith(offset);
      case 'macro':
        return (offset) => this.parseMacro(offset);
      case 'call':
        return (offset) => this.parseCallBlock(offset);
      case 'filter':
        return (offset) => ({
          kind: 'filterBlock',
          filter: this.expressions.parseFilterChain(),
          body: this.parseBlock('endfilter').body,
          offset,
        });
      case 'autoescape':
        return (offset) => ({
          kind: 'autoescape',
          value: this.expressions.parseExpression(),
          body: this.parseBlock('endautoescape').body,
          offset,
        });
      case 'block':
        return (offset) => this.parseNamedBlock(offset);
      case 'print':
        return (offset) => this.parsePrint(offset);
      default:
        return this.loads.parserOf(tag);
    }
  }

  private parseIf(offset: number): Statement {
    const parseTest = () => this.expressions.parseTuple({ conditional: false });
    const test = parseTest();
    let { body: then, end } = this.parseBlock('elif', 'else', 'endif');
    const body = then;
    const elifs: { test: Expression; body: Statement[] }[] = [];
    while (end === 'elif') {
      const elifTest = parseTest();
      ({ body: then, end } = this.parseBlock('elif', 'else', 'endif'));
      elifs.push({ test: elifTest, body: then });
    }
    const otherwise = end === 'else' ? this.parseBlock('endif').body : [];
    return { kind: 'if', test, body, elifs, otherwise, offset };
  }

  private parseFor(offset: number): Statement {
    const { stream, expressions } = this;
    const target = expressions.parseTarget({ endName: 'in' });
    stream.expectName('in');
    const iterable = expressions.parseTuple({ conditional: false, endName: 'recursive' });
    const test = stream.skipName('if') ? expressions.parseExpression() : undefined;
    const recursive = stream.skipName('recursive');
    const { body, end } = this.parseBlock('endfor', 'else');
    const otherwise = end === 'else' ? this.parseBlock('endfor').body : [];
    return { kind: 'for', target, iterable, test, recursive, body, otherwise, offset };
  }

  private parseSet(offset: number): Statement {
    const { stream, expressions } = this;
    const target = expressions.parseSetTarget();
    if (stream.skipIf('=')) return { kind: 'set', target, value: expressions.parseTuple(), offset };
    const filter: FilterCall | undefined = stream.skipIf('|') ? expressions.parseFilterChain() : undefined;
    this.endTag(filter === undefined ? setHint(stream.current) : undefined);
    return { kind: 'setBlock', target, filter, body: this.parseBlockBody('endset').body, offset };
  }

  private parseWith(offset: number): Statement {
    const { stream, expressions } = this;
    const bindings: { target: Target; value: Expression }[] = [];
    while (!stream.is('block_end') && !stream.is(':')) {
      if (bindings.length > 0) stream.expect(',');
      const target = expressions.parseTarget();
      stream.expect('=');
      bindings.push({ target, value: expressions.parseExpression() });
    }
    return { kind: 'with', bindings, body: this.parseBlock('endwith').body, offset };
  }

  private parseMacro(offset: number): Statement {
    const { name } = this.expressions.parseNameTarget();
    const parameters = this.parseParameters();
    return { kind: 'macro', name, parameters, body: this.parseBlock('endmacro').body, offset };
  }

  private parseCallBlock(offset: number): Statement {
    const parameters = this.stream.is('(') ? this.parseParameters() : [];
    const call: Expression = this.expressions.parseExpression();
    if (call.kind !== 'call') throw this.stream.fail('expected call', offset);
    return {
      kind: 'callBlock',
      parameters,
      call: call satisfies Call,
      body: this.parseBlock('endcall').body,
      offset,
    };
  }

  private parseParameters(): Parameter[] {
    const { stream } = this;
    const parameters: Parameter[] = [];
    stream.expect('(');
    while (!stream.is(')')) {
      if (parameters.length > 0) stream.expect(',');
      const { name, offset } = this.expressions.parseNameTarget();
      if (parameters.some((parameter) => parameter.name === name)) {
        throw stream.fail(`duplicate argument '${name}' in function definition`, offset);
      }
      const fallback = stream.skipIf('=') ? this.expressions.parseExpression() : undefined;
      if (fallback === undefined && parameters.at(-1)?.fallback !== undefined) {
        throw stream.fail('non-default argument follows default argument');
      }
      parameters.push({ name, fallback, offset });
    }
    stream.expect(')');
    return parameters;
  }

  private parseNamedBlock(offset: number): Statement {
    const { stream } = this;
    const name = stream.expect('name').value;
    const scoped = stream.skipName('scoped');
    const required = stream.skipName('required');
    if (stream.is('-'))
      throw stream.fail(
        'Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.',
      );
    const { body } = this.parseBlock('endblock');
    if (required && !isBlank(body))
      throw stream.fail('Required blocks can only contain comments or whitespace', offset);
    stream.skipName(name);
    return { kind: 'block', name, scoped, required, body, offset };
  }

  private parsePrint(offset: number): Statement {
    const parts: Expression[] = [];
    while (!this.stream.is('block_end')) {
      if (parts.length > 0) this.stream.expect(',');
      parts.push(this.expressions.parseExpression());
    }
    return { kind: 'output', parts, offset };
  }

  private unknownTag(tag: string, offset: number): Fault {
    const awaited = this.endTags.at(-1);
    const expected = this.endTags.some((tags) => tags.includes(tag));
    const list = awaited?.map((name) => `'${name}'`).join(' or ') ?? '';
    const parts = [`Encountered unknown tag '${tag}'.`];
    if (awaited && expected)
      parts.push(
        `You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for ${list}.`,
      );
    else if (awaited) parts.push(`Jinja was looking for the following tags: ${list}.`);
    return this.stream.fail(
      [...parts, ...this.innermost()].join(' '),
      offset,
      tagHint(tag) ?? this.innermostHint(),
    );
  }

  private endOfTemplate(): Fault {
    const list =
      this.endTags
        .at(-1)
        ?.map((name) => `'${name}'`)
        .join(' or ') ?? '';
    return this.stream.fail(
      [
        'Unexpected end of template.',
        `Jinja was looking for the following tags: ${list}.`,
        ...this.innermost(),
      ].join(' '),
      undefined,
      this.innermostHint(),
    );
  }

  private innermost(): string[] {
    const innermost = this.openTags.at(-1);
    return innermost === undefined
      ? []
      : [`The innermost block that needs to be closed is '${innermost.tag}'.`];
  }

  private innermostHint(): string | undefined {
    const innermost = this.openTags.at(-1);
    if (innermost === undefined) return undefined;
    return `the {% ${innermost.tag} %} of line ${positionAt(this.source, innermost.offset).line} is not closed`;
  }
}

function isBlank(body: readonly Statement[]): boolean {
  return body.every(
    (statement) =>
      statement.kind === 'output' &&
      statement.parts.every((part) => part.kind === 'data' && part.text.trim() === ''),
  );
}
