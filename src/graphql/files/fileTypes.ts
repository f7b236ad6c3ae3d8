import {
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
} from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { SCALARS } from '../schema/scalars.js';

export const FILES_FIELD = 'thefiles';

const FILE_OBJECT = new GraphQLObjectType({
  name: 'FileObject',
  description: 'A file of a row.',
  fields: {
    storagekey: { type: new GraphQLNonNull(GraphQLString) },
    filenum: { type: SCALARS.Int, description: 'Its number among the files of the row.' },
    filename: { type: GraphQLString },
    mimetype: { type: GraphQLString, description: 'As its bytes say, or else as it was declared.' },
    size: { type: SCALARS.BigInt, description: 'In bytes.' },
    createtime: { type: SCALARS.DateTime },
    url: { type: GraphQLString, description: 'Where to GET it, for a while; null without download.' },
  },
});

const FILE_UPLOAD = new GraphQLObjectType({
  name: 'FileUpload',
  description: 'Where to PUT the bytes of a file, once.',
  fields: {
    storagekey: { type: new GraphQLNonNull(GraphQLString) },
    upload_url: { type: new GraphQLNonNull(GraphQLString) },
    expires: { type: SCALARS.DateTime },
  },
});

export const FILE_INPUT = new GraphQLInputObjectType({
  name: 'FileObjectInput',
  fields: {
    filename: { type: new GraphQLNonNull(GraphQLString) },
    mimetype: { type: GraphQLString },
    size: { type: SCALARS.Int, description: 'In bytes. When given, no other size is taken.' },
    filenum: { type: SCALARS.Int, description: 'The number of the file that this one replaces.' },
  },
});

type Field = GraphQLFieldConfig<unknown, unknown>;

/** The field of a file table's rows. */
export const filesField: Field = { type: new GraphQLList(FILE_OBJECT) };

/** The mutations of a file table. */
export function fileMutationFields(table: Table, key: GraphQLFieldConfigArgumentMap): Record<string, Field> {
  return {
    [`upload_${table.name}`]: {
      type: FILE_UPLOAD,
      args: { ...key, input: { type: new GraphQLNonNull(FILE_INPUT) } },
    },
    [`delete_file_${table.name}`]: {
      type: FILE_OBJECT,
      description: 'Give storagekey or filenum.',
      args: { ...key, storagekey: { type: GraphQLString }, filenum: { type: SCALARS.Int } },
    },
  };
}
