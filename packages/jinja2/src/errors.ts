/**
 * How a template can fail:
 *  - `syntax`: it does not compile;
 *  - `render`: it compiled, but failed with this context;
 *  - `limit`: it exceeded a limit on time, memory, steps or output.
 */
export type TemplateErrorKind = 'syntax' | 'render' | 'limit';

/** A position in a template: line and column from 1, columns in UTF-16 units. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
  readonly sourceLine: string;
}

/** The plain form of a TemplateError, for passing between processes and to users. */
export interface TemplateErrorJson {
  readonly kind: TemplateErrorKind;
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly sourceLine: string;
  readonly hint?: string;
  /** The layout that the position is in; absent for the template itself. */
  readonly layout?: string;
}

/** Names in templates may be as long as these, and a message is repeated for each template that fails. */
const MAX_MESSAGE_CHARACTERS = 1_000;

const shortened = (text: string): string =>
  text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…` : text;

/** A failure of a template, with its position in the source. */
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
    super(shortened(message));
    this.line = position.line;
    this.column = position.column;
    this.sourceLine = position.sourceLine;
    if (hint !== undefined) this.hint = shortened(hint);
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
 * A failure whose position is unknown where it occurs (in a filter, an operator, a limit). The node being evaluated catches
 * it and adds its own offset; the outermost caller turns it into a TemplateError.
 */
export class Fault extends Error {
  offset = -1;
  /** The template that the offset refers to; undefined for the one being rendered. */
  origin: Origin | undefined;

  constructor(
    readonly kind: TemplateErrorKind,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** A template's name, and its source with normalized newlines. */
export interface Origin {
  /** Undefined for the template being rendered. */
  readonly name: string | undefined;
  readonly source: string;
}

/** Records which template a fault's position is in, unless known. A fault without a position will get the caller's. */
export function blame(error: unknown, origin: Origin): unknown {
  if (error instanceof Fault && error.offset >= 0) error.origin ??= origin;
  return error;
}

/** A failure of a template while it renders, such as Python's TypeError. */
export function renderFault(message: string, hint?: string): Fault {
  return new Fault('render', message, hint);
}

/** The failure for an exceeded limit. */
export function limitFault(message: string): Fault {
  return new Fault('limit', message);
}

/** Records where a fault occurred, unless a more precise position is already known. */
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
