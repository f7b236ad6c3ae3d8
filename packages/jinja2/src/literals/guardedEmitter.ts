import { BoundedEmitter, liquidText } from '../emitter.js';
import { Undefined, type Value } from '../values/value.js';
import type { LiteralEncoder } from './literalEncoder.js';

/** What Liquid's undefined is to an encoder. */
const MISSING = new Undefined('the value is missing');

/**
 * An emitter for output in another language. Only the template's own text can open and close literals in it; anything else,
 * whichever filter, macro or tag produced it, is a value.
 */
export class GuardedEmitter extends BoundedEmitter {
  constructor(
    maxLength: number,
    private readonly encoder: LiteralEncoder,
  ) {
    super(maxLength);
  }

  override write(value: unknown): void {
    const printed = value === undefined ? MISSING : (value as Value);
    this.writeValue(printed, liquidText(value));
  }

  override writeStatic(text: string): void {
    this.encoder.follow(text);
    this.writeText(text);
  }

  override writeValue(value: Value, text: string): void {
    this.writeText(this.encoder.encode(value, text));
  }
}
