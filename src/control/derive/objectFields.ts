import {
  GraphQLList,
  GraphQLNonNull,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  type GraphQLObjectType,
} from 'graphql';
import { LIST_ARGS } from '../../graphql/schema/dataSchema.js';
import { ID } from '../../graphql/schema/scalars.js';
import { ownValue } from '../../foundation/ownValue.js';
import { bumpPolicyVersion } from '../tenants/tenants.js';
import type { ControlContext } from '../controlContext.js';
import { bigintId, numericId, requireInput } from './badInput.js';
import type { ChangeName, ControlObject, Key } from './declaration.js';
import { inputType } from './objectTypes.js';
import { readValues } from './readValues.js';
import { findRow } from './rows.js';
import { deleteRow, insertRow, updateRow } from './writeRows.js';

export type ControlFields = GraphQLFieldConfigMap<unknown, ControlContext>;

/** The list of an object, with filter, ordering, limit and offset. */
export function listField(
  object: ControlObject,
  type: GraphQLObjectType,
): GraphQLFieldConfig<unknown, ControlContext> {
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
type Mutation = GraphQLFieldConfig<unknown, ControlContext, Args>;

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
        return { ...(await findRow(context, object, made)), ...secretsOf(object, given) };
      },
    },
    update: {
      type,
      args: { ...key, ...input },
      resolve: async (_source, args, context) => {
        object.mayChange?.(context.principal, 'update');
        const given = requireInput(args);
        const changed = await update(context, object, await readKey(context, object, args), given);
        return findRow(context, object, changed);
      },
    },
    delete: {
      type,
      args: key,
      description: object.deleteDescription,
      resolve: async (_source, args, context) => {
        object.mayChange?.(context.principal, 'delete');
        const wanted = await readKey(context, object, args);
        return (await remove(context, object, wanted)) ?? findRow(context, object, wanted);
      },
    },
  };
  return Object.fromEntries(changes.map((change) => [`${change}_${singular}`, mutation[change]]));
}

async function create(context: ControlContext, object: ControlObject, given: Values): Promise<Key> {
  if (object.overrides?.create) return object.overrides.create(context, given);
  const change = { context, given, before: undefined };
  await object.authorize?.(change);
  const { values, checked } = await readValues(object, change);
  const key = await (object.overrides?.insert?.(context, checked.row) ?? insertRow(context, object, values));
  await object.afterWrite?.(checked, key);
  await recordChange(context, object);
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
  await recordChange(context, object);
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
  await recordChange(context, object);
  return before;
}

async function recordChange(
  { db, principal }: ControlContext,
  { affectsPermissions }: ControlObject,
): Promise<void> {
  if (affectsPermissions) await bumpPolicyVersion(db, principal.tenantid);
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
