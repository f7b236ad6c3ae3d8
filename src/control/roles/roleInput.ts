import { GraphQLBoolean, GraphQLInputObjectType, GraphQLList, GraphQLString } from 'graphql';
import { SCALARS } from '../../graphql/schema/scalars.js';

export const roleInput = new GraphQLInputObjectType({
  name: 'roleInput',
  fields: {
    login: { type: GraphQLString },
    name: { type: GraphQLString },
    password: { type: GraphQLString, description: 'Stored as a hash and never shown.' },
    tenantid: { type: SCALARS.Int, description: "The caller's own tenant." },
    parentid: { type: SCALARS.Int, description: 'The caller itself when left out.' },
    classes: { type: new GraphQLList(SCALARS.Int) },
    capabilities: { type: new GraphQLList(GraphQLString), description: '`login` when left out.' },
    deleted: { type: GraphQLBoolean },
  },
});

export interface RoleInput {
  readonly login?: string | null;
  readonly name?: string | null;
  readonly password?: string | null;
  readonly tenantid?: number | null;
  readonly parentid?: number | null;
  readonly classes?: readonly (number | null)[] | null;
  readonly capabilities?: readonly (string | null)[] | null;
  readonly deleted?: boolean | null;
}
