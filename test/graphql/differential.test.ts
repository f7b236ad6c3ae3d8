import { itAnswersLikeGraphqlJs, SEED } from './support/naiveImplementation.js';

describe(`engine against graphql-js over a naive implementation (SEED=${SEED})`, () => {
  itAnswersLikeGraphqlJs([0, 1]);
});
