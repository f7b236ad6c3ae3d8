/**
 * What a template can fail with:
 *  - `syntax`: it does not compile;
 *  - `render`: it compiled, and this context made it fail;
 *  - `limit`: it asked for more time, memory, steps or output than it may have.
 */
export type TemplateErrorKind = 'syntax' | 'render' | 'limit';

/** A place in a template: line and column count from 1, columns in UTF-16 units. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
  readonly sourceLine: string;
}

/** The plain form of a TemplateError, as it crosses threads and goes to users. */
export interface TemplateErrorJson {
  readonly kind: TemplateErrorKind;
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly sourceLine: string;
  readonly hint?: string;
  /** The layout that the place is in; left out for the template itself. */
  readonly layout?: string;
}

/** Every failure of a template, with its place in the source. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly line: number;
  readonly column: number;
  readonly sourceLine: string;
  readonly hint?: string;
  readonly layout?: string;

  constructor(
    readonly kind: TemplateErrorKind,
    message: string,
    position: SourcePosition,
    hint?: string,
    layout?: string,
  ) {
    super(message);
    this.line = position.line;
    this.column = position.column;
    this.sourceLine = position.sourceLine;
    if (hint !== undefined) this.hint = hint;
    if (layout !== undefined) this.layout = layout;
  }

  toJSON(): TemplateErrorJson {
    const { kind, message, line, column, sourceLine, hint, layout } = this;
    return {
      kind,
      message,
      line,
      column,
      sourceLine,
      ...(hint === undefined ? {} : { hint }),
      ...(layout === undefined ? {} : { layout }),
    };
  }
}

/**
 * A failure whose place is not known where it happens (inside a filter, an operator, a limit).
 * The node that was being evaluated catches it and notes its own offset; the outermost caller turns it
 * into a TemplateError.
 */
export class Fault extends Error {
  offset = -1;
  /** The template that the offset is of; undefined for the one that is rendered. */
  origin: Origin | undefined;

  constructor(
    readonly kind: TemplateErrorKind,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** A template by its name, and its source with normalised newlines. */
export interface Origin {
  /** Undefined for the template that is rendered. */
  readonly name: string | undefined;
  readonly source: string;
}

/** Notes which template a fault's place is in, unless that is known. Without a place yet, it gets the caller's. */
export function blame(error: unknown, origin: Origin): unknown {
  if (error instanceof Fault && error.offset >= 0) error.origin ??= origin;
  return error;
}

/** A failure of a template while it renders, such as Python's TypeError. */
export function renderFault(message: string, hint?: string): Fault {
  return new Fault('render', message, hint);
}

/** A limit that was reached. */
export function limitFault(message: string): Fault {
  return new Fault('limit', message);
}

/** Notes where a fault happened, unless a more precise place is known already. */
export function locate(error: unknown, offset: number): unknown {
  if (error instanceof Fault && error.offset < 0) error.offset = offset;
  return error;
}

/** The line, column and text of an offset in a source. */
export function positionAt(source: string, offset: number): SourcePosition {
  const at = Math.max(0, Math.min(offset, source.length));
  const lineStart = source.lastIndexOf('\n', at - 1) + 1;
  const lineEnd = source.indexOf('\n', at);
  let line = 1;
  for (let i = source.indexOf('\n'); i >= 0 && i < at; i = source.indexOf('\n', i + 1)) line++;
  return {
    line,
    column: at - lineStart + 1,
    sourceLine: source.slice(lineStart, lineEnd < 0 ? source.length : lineEnd).slice(0, 300),
  };
}

/**
 * Anything thrown while compiling or rendering, as a TemplateError. A stack overflow is a limit;
 * other exceptions are bugs of ours and pass through unchanged.
 */
export function toTemplateError(error: unknown, source: string): unknown {
  if (error instanceof Fault) {
    const { origin = { name: undefined, source } } = error;
    const position = positionAt(origin.source, error.offset);
    return new TemplateError(error.kind, error.message, position, error.hint, origin.name);
  }
  if (error instanceof RangeError && /call stack/i.test(error.message)) {
    return new TemplateError('limit', 'the template nests too deeply', positionAt(source, 0));
  }
  return error;
}
