import {
  GraphQLNonNull,
  type GraphQLFieldConfig,
  type GraphQLInputObjectType,
  type GraphQLObjectType,
} from 'graphql';
import type { Principal } from '../../db/principal.js';
import type { ControlContext } from '../controlContext.js';
import { listField, notFound, requireInput, type ControlObject } from './controlObject.js';
import { StoredRow } from './storedRow.js';
import { ID } from '../../graphql/schema/scalars.js';

/**
 * A control object that is read as a list and changed one row at a time, as most are. The three mutations of all of
 * them do the same steps in the same order: authorize, read the input and the key, find the row, change it, and show
 * it. Functions here throw AppErrors; before they are called the principal is authorized.
 */
export interface CrudDescriptor<Row extends object, Key extends string | number, Input extends object> {
  readonly names: {
    /** The field of Query, which is also the table that it lists. */
    readonly list: string;
    /** In create_<one>, update_<one> and delete_<one>. */
    readonly one: string;
    /** In error messages. */
    readonly spoken: string;
  };
  readonly type: GraphQLObjectType;
  readonly input: GraphQLInputObjectType;
  readonly key: {
    readonly field: string;
    /** Throws AppError NOT_FOUND for what can't be a key. */
    readonly read: (given: string, spoken: string) => Key;
  };
  /** Throws AppError PERMISSION_DENIED. */
  readonly authorize: (principal: Principal, change: 'create' | 'update' | 'delete') => unknown;
  /** For lists that not everybody may read. Which rows the others see is said in `visibleTo`. */
  readonly authorizeList?: (principal: Principal) => unknown;
  readonly deleteDescription?: string;
  /** The row as the API shows it, if the principal may change it: of its tenant, or the installation's. */
  readonly find: (context: ControlContext, key: Key) => Promise<Row | undefined>;
  /** @returns the new row's key. */
  readonly create: (context: ControlContext, given: Input) => Promise<Key>;
  /** Changes what is given. @returns the row's key, which may be another one now. */
  readonly update: (context: ControlContext, before: Row, given: Input) => Promise<Key>;
  readonly delete: (context: ControlContext, before: Row) => Promise<void>;
  /** What is shown in the answer of the creation only. */
  readonly shownOnce?: (given: Input) => object;
}

/** The list and the three mutations of a control object. */
export function crudObject<Row extends object, Key extends string | number, Input extends object>(
  descriptor: CrudDescriptor<Row, Key, Input>,
): ControlObject {
  const { names, type, authorize } = descriptor;
  const input = { input: { type: descriptor.input } };
  const key = { [descriptor.key.field]: { type: new GraphQLNonNull(ID) } };
  const readKey = (args: Args<Input>): Key =>
    descriptor.key.read(args[descriptor.key.field] as string, names.spoken);
  const find = async (context: ControlContext, wanted: Key): Promise<Row> => {
    const row = await descriptor.find(context, wanted);
    if (!row) throw notFound(names.spoken, wanted);
    return row;
  };

  const create: Mutation<Input> = {
    type,
    args: input,
    resolve: async (_source, args, context) => {
      authorize(context.principal, 'create');
      const given = requireInput(args);
      const row = await find(context, await descriptor.create(context, given));
      return new StoredRow({ ...row, ...descriptor.shownOnce?.(given) });
    },
  };
  const update: Mutation<Input> = {
    type,
    args: { ...key, ...input },
    resolve: async (_source, args, context) => {
      authorize(context.principal, 'update');
      const given = requireInput(args);
      const before = await find(context, readKey(args));
      return new StoredRow(await find(context, await descriptor.update(context, before, given)));
    },
  };
  const remove: Mutation<Input> = {
    type,
    args: key,
    description: descriptor.deleteDescription,
    resolve: async (_source, args, context) => {
      authorize(context.principal, 'delete');
      const before = await find(context, readKey(args));
      await descriptor.delete(context, before);
      return new StoredRow(before);
    },
  };
  return {
    queries: { [names.list]: listField(type, names.list, descriptor.authorizeList) },
    mutations: {
      [`create_${names.one}`]: create,
      [`update_${names.one}`]: update,
      [`delete_${names.one}`]: remove,
    },
  };
}

/** The input, and the key under its own name. */
type Args<Input> = { readonly input?: Input | null } & Readonly<Record<string, unknown>>;
type Mutation<Input> = GraphQLFieldConfig<unknown, ControlContext, Args<Input>>;
