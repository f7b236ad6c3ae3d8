import { itAnswersLikeGraphqlJs, SEED } from './support/naiveImplementation.js';

describe(`engine against graphql-js over a naive implementation (FUZZ_SEED=${SEED})`, () => {
  itAnswersLikeGraphqlJs([0, 1]);
});
