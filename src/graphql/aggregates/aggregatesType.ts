import { GraphQLList, GraphQLObjectType, GraphQLString, type GraphQLFieldResolver } from 'graphql';
import { AGGREGATES } from '../filter/values/aggregateTable.js';
import { SCALARS } from '../schema/scalars.js';

const ARGUMENTS = {
  subquery: {
    type: GraphQLString,
    description: 'A GraphQL query for one table: its first field is aggregated, the others are group keys.',
  },
  filter: { type: GraphQLString, description: "Filter on the table's rows." },
  having: {
    type: GraphQLString,
    description: 'Filter on the results: refers to the aggregate and the group keys.',
  },
  ordering: {
    type: new GraphQLList(GraphQLString),
    description: 'Ordering of the results, by the aggregate and the group keys.',
  },
  limit: { type: SCALARS.Int },
  offset: { type: SCALARS.Int },
  distincton: {
    type: new GraphQLList(GraphQLString),
    description:
      'Group keys whose combinations must be distinct: of each, only the first result in the ordering is returned.',
  },
};

/** The type of `Aggregates` on Query: one field per aggregate, each a list of objects. */
export function aggregatesType<Context>(
  resolve?: GraphQLFieldResolver<unknown, Context>,
): GraphQLObjectType<unknown, Context> {
  const field = { type: SCALARS.GenericScalar, args: ARGUMENTS, ...(resolve ? { resolve } : {}) };
  return new GraphQLObjectType<unknown, Context>({
    name: 'Aggregates',
    fields: Object.fromEntries([...AGGREGATES.keys()].sort().map((name) => [name, field])),
  });
}

/** For tenants' tables, whose requests are compiled to SQL. */
export const AGGREGATES_TYPE = aggregatesType();
