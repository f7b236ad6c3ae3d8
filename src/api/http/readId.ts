import { exactInteger, ExactNumber } from '../../losslessJson.js';

/** An id, which comes as a number or as a string that holds one; undefined for what is none. */
export function readId(given: unknown): number | undefined {
  const isText = typeof given === 'string' || typeof given === 'number' || given instanceof ExactNumber;
  const id = isText ? exactInteger(String(given).trim()) : undefined;
  return id !== undefined && id >= 0n && id < 2n ** 31n ? Number(id) : undefined;
}
