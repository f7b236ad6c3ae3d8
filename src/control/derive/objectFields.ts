import { GraphQLList, GraphQLNonNull, type GraphQLObjectType } from 'graphql';
import { LIST_ARGS } from '../../graphql/schema/dataSchema.js';
import { ID } from '../../graphql/schema/scalars.js';
import { ownValue } from '../../foundation/ownValue.js';
import { recordChange } from '../audit/recordChange.js';
import type { ControlContext, ControlField, ControlFields } from '../controlContext.js';
import { bigintId, numericId, requireInput } from './badInput.js';
import type { ChangeName, ControlObject, Key } from './declaration.js';
import { inputType } from './objectTypes.js';
import { readValues } from './readValues.js';
import { findRow, readKeyRow } from './rows.js';
import { deleteRow, insertRow, updateRow } from './writeRows.js';

/** The list of an object, with filter, ordering, limit and offset. */
export function listField(object: ControlObject, type: GraphQLObjectType): ControlField {
  return {
    type: new GraphQLList(type),
    args: LIST_ARGS,
    resolve: (_source, _args, context, info) => {
      object.mayList?.(context.principal);
      return context.list(info, object.table);
    },
  };
}

/** The key columns by name, and the input. */
type Args = Readonly<Record<string, unknown>> & { readonly input?: Values | null };
type Values = Readonly<Record<string, unknown>>;
type Mutation = ControlField<Args>;

/** create_, update_ and delete_ for one row. Each returns the row as it is after the change, or was before its deletion. */
export function mutationFields(object: ControlObject, type: GraphQLObjectType): ControlFields {
  if (!object.mayChange) return {};
  const { table, singular = table, changes = ['create', 'update', 'delete'] } = object;
  const key = Object.fromEntries(object.key.map((name) => [name, { type: new GraphQLNonNull(ID) }]));
  const input = changes.some((change) => change !== 'delete') ? { input: { type: inputType(object) } } : {};
  const mutation: Record<ChangeName, Mutation> = {
    create: {
      type,
      args: input,
      resolve: async (_source, args, context) => {
        object.mayChange?.(context.principal, 'create');
        const given = requireInput(args);
        const made = await create(context, object, given);
        const key = Object.fromEntries(object.key.map((name) => [name, ownValue(made, name) as string]));
        const after = await findRow(context, object, key);
        await record(context, object, { operation: 'create', key, after });
        return { ...after, ...secretsOf(object, given), ...secretsOf(object, made) };
      },
    },
    update: {
      type,
      args: { ...key, ...input },
      resolve: async (_source, args, context) => {
        object.mayChange?.(context.principal, 'update');
        const given = requireInput(args);
        const key = await readKey(context, object, args);
        const before = await readKeyRow(context, object, key);
        const after = await findRow(context, object, await update(context, object, key, given));
        await record(context, object, { operation: 'update', key, before, after });
        return after;
      },
    },
    delete: {
      type,
      args: key,
      description: object.deleteDescription,
      resolve: async (_source, args, context) => {
        object.mayChange?.(context.principal, 'delete');
        const key = await readKey(context, object, args);
        const before = await readKeyRow(context, object, key);
        const deleted = (await remove(context, object, key)) ?? (await findRow(context, object, key));
        await record(context, object, { operation: 'delete', key, before });
        return deleted;
      },
    },
  };
  return Object.fromEntries(changes.map((change) => [`${change}_${singular}`, mutation[change]]));
}

/** The columns that the API shows: never one with `secret` or `inputOnly`, which are not read. */
async function record(
  context: ControlContext,
  object: ControlObject,
  change: {
    readonly operation: ChangeName;
    readonly key: Key;
    readonly before?: object | undefined;
    readonly after?: object;
  },
): Promise<void> {
  const { operation, key, before, after } = change;
  await recordChange(context.db, context, {
    object: object.table,
    operation,
    key: object.key.map((name) => ownValue(key, name)).join(' '),
    before: shownOf(object, before),
    after: shownOf(object, after),
  });
}

function shownOf({ columns }: ControlObject, row: object | undefined): object | undefined {
  return (
    row && Object.fromEntries(Object.entries(row).filter(([name]) => !ownValue(columns, name)?.internal))
  );
}

async function create(context: ControlContext, object: ControlObject, given: Values): Promise<Key> {
  if (object.overrides?.create) return object.overrides.create(context, given);
  const change = { context, given, before: undefined };
  await object.authorize?.(change);
  const { values, checked } = await readValues(object, change);
  const key = await (object.overrides?.insert?.(context, checked.row) ?? insertRow(context, object, values));
  await object.afterWrite?.(checked, key);
  return key;
}

/** @returns the row's key, which the update may have changed. */
async function update(context: ControlContext, object: ControlObject, key: Key, given: Values): Promise<Key> {
  if (object.overrides?.update) {
    await object.overrides.update(context, key, given, () => findRow(context, object, key));
    return key;
  }
  const change = { context, given, before: await findRow(context, object, key) };
  await object.authorize?.(change);
  const { values, checked } = await readValues(object, change);
  await updateRow(context, object, { key, before: change.before, changes: values });
  await object.afterWrite?.(checked, key);
  return Object.fromEntries(
    object.key.map((name) => [name, (ownValue(values, name) ?? ownValue(key, name)) as string]),
  );
}

async function remove(context: ControlContext, object: ControlObject, key: Key): Promise<object | undefined> {
  if (object.overrides?.delete)
    return object.overrides.delete(context, key, () => findRow(context, object, key));
  const before = await findRow(context, object, key);
  await object.beforeDelete?.(context, before);
  await deleteRow(context, object, key, before);
  return before;
}

/** Reads the key from the arguments. Throws AppError NOT_FOUND for a value that can't be one. */
async function readKey(context: ControlContext, object: ControlObject, args: Args): Promise<Key> {
  const given = args as unknown as Readonly<Record<string, string>>;
  if (object.overrides?.readKey) return object.overrides.readKey(context, given);
  return Object.fromEntries(
    object.key.map((name) => [
      name,
      readId(ownValue(object.columns, name)?.type, ownValue(given, name) ?? '', object.label),
    ]),
  );
}

function readId(type: string | undefined, id: string, label: string): string | number {
  if (type === 'int4') return numericId(id, label);
  return type === 'int8' ? bigintId(id, label) : id;
}

/** Secrets are shown only in the response to the creation that set them. */
function secretsOf({ columns }: ControlObject, given: Values): Values {
  return Object.fromEntries(Object.entries(given).filter(([name]) => ownValue(columns, name)?.secret));
}
