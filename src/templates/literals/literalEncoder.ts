import type { Value } from '../values/value.js';

/**
 * Follows the text of another language (a filter expression, JSON) as a template prints it, and writes values so
 * that they stay within the literal they stand in, or are a literal of their own.
 */
export interface LiteralEncoder {
  /** Text of the template, printed as it is. */
  follow(text: string): void;
  /** What to print for a value at this place. @throws Fault for a value that can't stand here */
  encode(value: Value, text: string): string;
}
