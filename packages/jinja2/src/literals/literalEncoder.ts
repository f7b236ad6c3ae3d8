import type { Value } from '../values/value.js';

/**
 * Tracks text in another language (a filter expression, JSON) as a template prints it, and encodes values so that they stay
 * within the surrounding literal, or are a literal of their own.
 */
export interface LiteralEncoder {
  /** Tracks text of the template, which is printed verbatim. */
  follow(text: string): void;
  /** What to print for a value at this position. @throws Fault for a value that isn't allowed here */
  encode(value: Value, text: string): string;
}
