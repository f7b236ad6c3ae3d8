import { parseContextJson } from './contextJson.js';
import { limitFault, renderFault } from './errors.js';
import { Dict, dictEntries, dictGet, isDict } from './values/dict.js';
import { isPlainDict, isText, textOf, typeName, type PlainDict, type Value } from './values/value.js';

const MAX_DEPTH = 500;

/** A context given as JSON text (or as a member of an object in it), parsed once for all templates that render with it. */
export class JsonContext {
  private shared: PlainDict | undefined;

  constructor(
    private readonly text: string,
    private readonly member?: string,
  ) {}

  static of(context: string | JsonContext): JsonContext {
    return typeof context === 'string' ? new JsonContext(context) : context;
  }

  /** Values with Python's types, shared by templates that don't change them. @throws Fault if it is not a JSON object */
  values(): PlainDict {
    this.shared ??= this.ownValues();
    return this.shared;
  }

  /** Values that one render may change. */
  ownValues(): PlainDict {
    return toContext(this.read((text) => parseContextJson(text)));
  }

  /** Values with JavaScript's types, for Liquid. */
  plainValues(): Record<string, unknown> {
    return toContext(this.read((text) => JSON.parse(text) as Value));
  }

  private read(parse: (text: string) => Value): Value {
    try {
      const root = parse(this.text);
      return this.member === undefined ? root : memberOf(root, this.member);
    } catch (error) {
      throw renderFault(`the context is no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** A member that is null or absent is an empty context. */
function memberOf(root: Value, member: string): Value {
  const value = isDict(root) ? dictGet(root, member) : undefined;
  return value === undefined || value === null ? {} : value;
}

function toContext(value: Value): PlainDict {
  if (isPlainDict(value)) return value;
  if (!(value instanceof Dict)) throw renderFault(`the context must be an object, not ${typeName(value)}`);
  return Object.fromEntries(dictEntries(value).map(([key, item]) => [isText(key) ? textOf(key) : '', item]));
}

/** A deep copy that a template may change. @throws Fault for cyclic data */
export function copyContext(context: PlainDict): PlainDict {
  return Object.fromEntries(Object.entries(context).map(([key, value]) => [key, copyValue(value, 0)]));
}

function copyValue(value: Value, depth: number): Value {
  if (depth > MAX_DEPTH) throw limitFault(`the context nests deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return value.map((item) => copyValue(item, depth + 1));
  if (!isPlainDict(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyValue(item, depth + 1)]));
}
