import { itAnswersLikeGraphqlJs, SEED } from '../../graphql/support/naiveImplementation.js';

describe(`engine against graphql-js over a naive implementation, more schemas (SEED=${SEED})`, () => {
  itAnswersLikeGraphqlJs([2, 3, 4, 5, 6, 7, 8, 9]);
});
