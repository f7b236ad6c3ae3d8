import { renderFault, type Fault } from '../errors.js';

/**
 * The values a template works with: Python's types represented in JavaScript.
 *
 *  | Python            | here                                                                     |
 *  |-------------------|--------------------------------------------------------------------------|
 *  | None              | null                                                                     |
 *  | bool              | boolean                                                                  |
 *  | int               | number (an integer), or bigint beyond 2^53                               |
 *  | float             | number when it has a fraction; a `Float` box when whole (`10/2` is 5.0)   |
 *  | str               | string                                                                   |
 *  | list              | Value[]                                                                  |
 *  | everything else   | a subclass of `PyObject`: a dict is a `Dict`                              |
 *
 * No other object is a value: a name that a template chose never indexes an object, so that no prototype is in reach.
 */
export type Value = null | boolean | number | bigint | string | Value[] | PyObject;

/** A Python object without a JavaScript equivalent. */
export abstract class PyObject {
  /** Python's type name, as used in error messages. */
  abstract readonly typeName: string;

  /** The value of an attribute, or JavaScript's undefined if there is none. */
  attribute?(name: string): Value | undefined;

  /** Python's `len()`, for objects that have one. */
  size?(): number;

  /** Python's `__html__()`: its markup. */
  markup?(): string;

  /** Python's `repr()`, if it isn't just the type's name; `print` is for values within this one. */
  repr?(print: (value: Value) => string): string;
}

/** A float without a fraction, which JavaScript would not distinguish from an integer. */
export class Float extends PyObject {
  readonly typeName = 'float';
  constructor(readonly value: number) {
    super();
  }
}

/** Safe HTML: autoescaping leaves it alone, and text joined to it is escaped. */
export class Markup extends PyObject {
  readonly typeName: string = 'Markup';
  constructor(readonly text: string) {
    super();
  }
}

/** The result of `tojson`: a complete JSON value, embedded verbatim in a JSON document. */
export class JsonMarkup extends Markup {}

export class Tuple extends PyObject {
  readonly typeName = 'tuple';
  constructor(readonly items: readonly Value[]) {
    super();
  }

  override size(): number {
    return this.items.length;
  }
}

/** A missing name, attribute or item. Prints as nothing; any other use is an error. */
export class Undefined extends PyObject {
  readonly typeName = 'Undefined';
  constructor(
    readonly message: string,
    private readonly hint?: string,
  ) {
    super();
  }

  /** The error raised on use. */
  fault(): Fault {
    return renderFault(this.message, this.hint);
  }

  override size(): number {
    return 0;
  }

  override repr(): string {
    return 'Undefined';
  }
}

/** Single-pass iteration over values, like a Python generator. */
export class PyIterator extends PyObject {
  constructor(
    private readonly source: Iterator<Value>,
    readonly typeName = 'generator',
  ) {
    super();
  }

  next(): IteratorResult<Value, unknown> {
    return this.source.next();
  }

  [Symbol.iterator](): this {
    return this;
  }
}

export class Range extends PyObject {
  readonly typeName = 'range';
  readonly length: number;
  constructor(
    readonly start: number,
    readonly stop: number,
    readonly step: number,
  ) {
    super();
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(index: number): number {
    return this.start + index * this.step;
  }

  override size(): number {
    return this.length;
  }

  override attribute(name: string): Value | undefined {
    return name === 'start' || name === 'stop' || name === 'step' ? this[name] : undefined;
  }

  override repr(): string {
    return this.step === 1
      ? `range(${this.start}, ${this.stop})`
      : `range(${this.start}, ${this.stop}, ${this.step})`;
  }
}

export type Text = string | Markup;

export function isText(value: Value): value is Text {
  return typeof value === 'string' || value instanceof Markup;
}

/** The characters of a str or Markup. */
export function textOf(value: Text): string {
  return typeof value === 'string' ? value : value.text;
}

export function isList(value: Value): value is Value[] {
  return Array.isArray(value);
}

/** A float of any value: boxed when whole. */
export function toFloat(value: number): Value {
  return Number.isInteger(value) ? new Float(value) : value;
}

export function isFloat(value: Value): value is number | Float {
  return value instanceof Float || (typeof value === 'number' && !Number.isInteger(value));
}

/** Python's int, which bool is one of. */
export function isInt(value: Value): value is number | bigint | boolean {
  return (
    typeof value === 'boolean' ||
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isInteger(value))
  );
}

/** The name of a value's Python type. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'str';
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float';
    default:
      if (value === null) return 'NoneType';
      if (Array.isArray(value)) return 'list';
      return value.typeName;
  }
}
