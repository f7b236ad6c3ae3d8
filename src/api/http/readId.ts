import { exactInteger, ExactNumber } from '../../foundation/json/losslessJson.js';

/** An id given as a number or a numeric string; undefined if it is neither. */
export function readId(given: unknown): number | undefined {
  const isText = typeof given === 'string' || typeof given === 'number' || given instanceof ExactNumber;
  const id = isText ? exactInteger(String(given).trim()) : undefined;
  return id !== undefined && id >= 0n && id < 2n ** 31n ? Number(id) : undefined;
}

/** No tenant has this id: an unknown one gets the same response as a wrong password or signature, after the same work. */
export const NO_TENANT = -1;
