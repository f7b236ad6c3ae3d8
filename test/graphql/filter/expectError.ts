import { expect } from 'chai';
import { AppError, type ErrorCode } from '../../../src/foundation/errors.js';

/** Runs it, expects an AppError of the code, and hands it over. */
export function expectError(code: ErrorCode, work: () => unknown): AppError {
  let caught: unknown;
  try {
    work();
  } catch (error) {
    caught = error;
  }
  expect(caught, 'it should have thrown').to.be.instanceOf(AppError);
  expect((caught as AppError).code, (caught as AppError).message).to.equal(code);
  return caught as AppError;
}
