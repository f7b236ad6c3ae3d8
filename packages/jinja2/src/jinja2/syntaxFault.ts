import { Fault } from '../errors.js';

/** The fault of a template that does not compile, at an offset in its source. */
export function syntaxFault(message: string, offset: number, hint?: string): Fault {
  const fault = new Fault('syntax', message, hint);
  fault.offset = offset;
  return fault;
}
