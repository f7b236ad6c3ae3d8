import { endOfString } from './jsonReader.js';
import { ownValue } from './ownValue.js';
import { parseContextJson } from './contextJson.js';
import { Fault, limitFault, renderFault } from './errors.js';
import { toRecord, type LiquidRecord } from './liquid/liquidRecord.js';
import { Dict } from './values/dict.js';
import { typeName, type Value } from './values/value.js';

/**
 * Characters of a context. Parsing one is a single call: when it needs more memory at once than its process may have, V8
 * ends the process.
 */
export const MAX_CONTEXT_CHARACTERS = 12_000_000;
/** As which a value counts besides its own, by the memory that it takes. */
const CHARACTERS_OF_VALUE = 10;

export const CONTEXT_TOO_LARGE =
  'the data of the template is too large: let its queries select fewer rows and fields';

const QUOTE = 0x22;
/** What each value but the first follows: a comma, or the bracket that opens its list or object. */
const BEFORE_VALUES: ReadonlySet<number> = new Set([0x2c, 0x5b, 0x7b]);

/** Whether no template can be rendered with data that have this in them. */
export function isTooLarge(json: string): boolean {
  let weight = json.length;
  if (weight * (1 + CHARACTERS_OF_VALUE) <= MAX_CONTEXT_CHARACTERS) return false;
  for (let at = 0; at < json.length && weight <= MAX_CONTEXT_CHARACTERS; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (BEFORE_VALUES.has(code)) weight += CHARACTERS_OF_VALUE;
  }
  return weight > MAX_CONTEXT_CHARACTERS;
}

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
      if (isTooLarge(this.text)) throw limitFault(CONTEXT_TOO_LARGE);
      return parse(this.text);
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw renderFault(`the context is no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function toContext(value: Value): Dict {
  if (value instanceof Dict) return value;
  throw renderFault(`the context must be an object, not ${typeName(value)}`);
}
