import type { FromImport, LoadStatement } from './ast.js';
import type { ExpressionParser } from './expressionParser.js';
import type { TokenStream } from './tokenStream.js';

/** Parses the tags that load layouts. */
export class LoadParser {
  constructor(
    private readonly stream: TokenStream,
    private readonly expressions: ExpressionParser,
  ) {}

  /** @returns undefined for a tag that loads nothing */
  parserOf(tag: string): ((offset: number) => LoadStatement) | undefined {
    switch (tag) {
      case 'extends':
        return (offset) => ({ kind: 'extends', layout: this.expressions.parseExpression(), offset });
      case 'include':
        return (offset) => this.parseInclude(offset);
      case 'import':
        return (offset) => this.parseImport(offset);
      case 'from':
        return (offset) => this.parseFromImport(offset);
      default:
        return undefined;
    }
  }

  private parseInclude(offset: number): LoadStatement {
    const layout = this.expressions.parseExpression();
    const ignoreMissing = this.skipPair(['ignore'], 'missing') !== undefined;
    const withContext = this.parseContext() ?? true;
    return { kind: 'include', layout, ignoreMissing, withContext, offset };
  }

  private parseImport(offset: number): LoadStatement {
    const layout = this.expressions.parseExpression();
    this.stream.expectName('as');
    const { name: target } = this.expressions.parseNameTarget();
    return { kind: 'import', layout, target, withContext: this.parseContext() ?? false, offset };
  }

  private parseFromImport(offset: number): LoadStatement {
    const { stream, expressions } = this;
    const layout = expressions.parseExpression();
    stream.expectName('import');
    const names: FromImport['names'][number][] = [];
    let withContext: boolean | undefined;
    do {
      if (names.length > 0) stream.expect(',');
      withContext = this.parseContext();
      if (withContext !== undefined) break;
      const { name, offset: at } = expressions.parseNameTarget();
      if (name.startsWith('_')) throw stream.fail('names starting with an underline can not be imported', at);
      names.push({ name, target: stream.skipName('as') ? expressions.parseNameTarget().name : name });
      stream.count();
      withContext = this.parseContext();
    } while (withContext === undefined && stream.is(','));
    return { kind: 'fromImport', layout, names, withContext: withContext ?? false, offset };
  }

  /** `with context` or `without context`. */
  private parseContext(): boolean | undefined {
    const word = this.skipPair(['with', 'without'], 'context');
    return word === undefined ? undefined : word === 'with';
  }

  private skipPair(firsts: readonly string[], second: string): string | undefined {
    const { current, following } = this.stream;
    if (!this.stream.isName(...firsts) || following.type !== 'name' || following.value !== second)
      return undefined;
    this.stream.next();
    this.stream.next();
    return current.value;
  }
}
