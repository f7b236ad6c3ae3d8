import { GraphQLObjectType, GraphQLString } from 'graphql';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';

/** Why an email is not sent. A value rather than an error, so that query results can be shown with it. */
export const emailErrorType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_error',
  fields: {
    code: { type: GraphQLString },
    field: {
      type: GraphQLString,
      description: 'The field of the email type or the rule, such as subject or queries[0].filter.',
    },
    message: { type: GraphQLString },
    line: { type: SCALARS.Int },
    column: { type: SCALARS.Int },
    hint: { type: GraphQLString },
  },
});
