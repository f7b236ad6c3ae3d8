import { itReadsWhatRolesMay, SEED } from '../../graphql/support/naiveAccess.js';

describe(`aggregates and denied tables against a naive implementation, more schemas (SEED=${SEED})`, () => {
  itReadsWhatRolesMay([1, 2, 3, 4]);
});
