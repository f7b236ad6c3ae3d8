import { Fault } from '../errors.js';

/** A template that does not compile, at an offset of its source. */
export function syntaxFault(message: string, offset: number, hint?: string): Fault {
  const fault = new Fault('syntax', message, hint);
  fault.offset = offset;
  return fault;
}
