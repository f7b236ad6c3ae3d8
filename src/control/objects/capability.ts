import { GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import type { ControlContext } from '../controlContext.js';
import { listField, type ControlObject } from '../object/controlObject.js';
import { ID } from '../../graphql/schema/scalars.js';

const capabilityType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'capability',
  fields: {
    capability: { type: new GraphQLNonNull(ID) },
    package: { type: GraphQLString },
    subset: { type: GraphQLString },
    description: { type: GraphQLString },
  },
});

/** What roles can be allowed to do. Fixed by the service, so there are no mutations. */
export const capability: ControlObject = {
  queries: { capability: listField(capabilityType, 'capability') },
  mutations: {},
};
