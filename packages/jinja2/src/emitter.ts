import type { Emitter } from 'liquidjs';
import { limitFault } from './errors.js';
import type { Value } from './values/value.js';

/** Collects a template's output, up to a maximum length. LiquidJS does not bound its own emitters. */
export class BoundedEmitter implements Emitter {
  buffer = '';

  constructor(private readonly maxLength: number) {}

  /** For LiquidJS, whose nodes write values of any kind. Lists item by item: as one text, they may be longer than a limit allows. */
  write(value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.write(item);
    else if (typeof value === 'object' && value !== null) this.writeText(this.#jsonOf(value));
    else this.writeText(liquidText(value));
  }

  /** The JSON text of an object, which is not made if it is certainly too long: it may hold a text many times. */
  #jsonOf(object: object): string {
    let length = 0;
    return JSON.stringify(object, (_name, value: unknown) => {
      length += typeof value === 'string' ? value.length : 1;
      if (length > this.maxLength) throw tooLong(this.maxLength);
      return value;
    });
  }

  writeText(text: string): void {
    this.buffer += text;
    if (this.buffer.length > this.maxLength) {
      throw tooLong(this.maxLength);
    }
  }

  /** Writes trusted text of the template itself. */
  writeStatic(text: string): void {
    this.writeText(text);
  }

  /** Writes a value that the template prints, as the given text. */
  writeValue(_value: Value, text: string): void {
    this.writeText(text);
  }
}

function tooLong(maxLength: number): Error {
  return limitFault(`the output is too long (limit ${maxLength} characters)`);
}

/** What LiquidJS would print for a value. */
export function liquidText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(liquidText).join('');
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : '';
}
