import { ownValue } from '../../foundation/ownValue.js';
import type { Fields } from './readFields.js';

/** The field of a form, or of a query string, as it was typed; empty if absent. */
export function formText(values: Fields['values'], name: string): string {
  const value = ownValue(values, name);
  return typeof value === 'string' ? value : '';
}
