import {
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
} from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { SCALARS } from '../schema/scalars.js';
import { keyArgs } from '../write/keyArgs.js';

export const FILES_FIELD = 'thefiles';

const FILE_OBJECT = new GraphQLObjectType({
  name: 'FileObject',
  description: 'A file that belongs to a row.',
  fields: {
    storagekey: { type: new GraphQLNonNull(GraphQLString) },
    filenum: { type: SCALARS.Int, description: 'Number of the file within its row.' },
    filename: { type: GraphQLString },
    mimetype: {
      type: GraphQLString,
      description: 'Detected from the content; the declared type if that fails.',
    },
    size: { type: SCALARS.BigInt, description: 'Size in bytes.' },
    createtime: { type: SCALARS.DateTime },
    url: {
      type: GraphQLString,
      description: 'Download URL, valid for a limited time; null if the caller may not download the file.',
    },
  },
});

const FILE_UPLOAD = new GraphQLObjectType({
  name: 'FileUpload',
  description: 'A URL that accepts the bytes of one file, in a single PUT request.',
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
    size: {
      type: SCALARS.Int,
      description: 'Size in bytes. If given, an upload of any other size is rejected.',
    },
    filenum: { type: SCALARS.Int, description: 'Number of the file to replace.' },
  },
});

type Field = GraphQLFieldConfig<unknown, unknown>;

/** The field of a file table's rows. */
export const filesField: Field = { type: new GraphQLList(FILE_OBJECT) };

/** The mutations of a file table. */
export function fileMutationFields(table: Table): Record<string, Field> {
  return {
    [`upload_${table.name}`]: {
      type: FILE_UPLOAD,
      args: { ...keyArgs(table, 'upload'), input: { type: new GraphQLNonNull(FILE_INPUT) } },
    },
    [`delete_file_${table.name}`]: {
      type: FILE_OBJECT,
      description: 'Deletes a file of the row, given by storagekey or filenum.',
      args: {
        ...keyArgs(table, 'delete_file'),
        storagekey: { type: GraphQLString },
        filenum: { type: SCALARS.Int },
      },
    },
  };
}
