import { itReadsWhatRolesMay, SEED } from './support/naiveAccess.js';

describe(`aggregates and denied tables against a naive implementation (SEED=${SEED})`, () => {
  itReadsWhatRolesMay([0]);
});
