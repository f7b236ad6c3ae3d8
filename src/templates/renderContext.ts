import { ownValue } from '../ownValue.js';
import { parseContextJson } from './contextJson.js';
import { renderFault } from './errors.js';
import { toRecord, type LiquidRecord } from './liquid/liquidRecord.js';
import { Dict } from './values/dict.js';
import { typeName, type Value } from './values/value.js';

/** A context given as JSON text (or as a member of an object in it), parsed once for all templates that render with it. */
export class JsonContext {
  private shared: Dict | undefined;

  constructor(
    private readonly text: string,
    private readonly member?: string,
  ) {}

  static of(context: string | JsonContext): JsonContext {
    return typeof context === 'string' ? new JsonContext(context) : context;
  }

  /** Values with Python's types, shared by templates that don't change them. @throws Fault if it is not a JSON object */
  values(): Dict {
    this.shared ??= this.ownValues();
    return this.shared;
  }

  /** Values that one render may change. */
  ownValues(): Dict {
    const root = this.read(parseContextJson);
    if (this.member === undefined) return toContext(root);
    // A member that is null or absent is an empty context.
    return toContext((root instanceof Dict ? root.get(this.member) : undefined) ?? Dict.of());
  }

  /** Values with JavaScript's types, for Liquid, which one render may change. */
  liquidRecord(): LiquidRecord {
    const root = this.read((text) => JSON.parse(text) as unknown);
    if (this.member === undefined) return toRecord(root);
    return toRecord(root !== null && typeof root === 'object' ? (ownValue(root, this.member) ?? {}) : {});
  }

  private read<T>(parse: (text: string) => T): T {
    try {
      return parse(this.text);
    } catch (error) {
      throw renderFault(`the context is no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function toContext(value: Value): Dict {
  if (value instanceof Dict) return value;
  throw renderFault(`the context must be an object, not ${typeName(value)}`);
}
