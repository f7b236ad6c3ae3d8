import type { GraphQLFieldResolver } from 'graphql';
import { identifier } from '../../db/sql/sql.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from './badInput.js';
import type { ControlObject, Related } from './declaration.js';
import { readRows } from './rows.js';
import { ListedRow, listedRows } from './listedRow.js';

type Args = Readonly<Record<string, unknown>>;

/** A field with rows of another object. Lists include them; after a mutation they are read separately. */
export function relatedRows(
  name: string,
  related: Related,
  target: ControlObject,
): GraphQLFieldResolver<unknown, ControlContext> {
  return (source, args: Args, context, info) => {
    if (source instanceof ListedRow) return listed(ownValue(source.row, info.path.key));
    return context.serialize(async () => {
      context.countRelatedRead();
      const rows = await read(source as Args, name, related, target, context);
      if (related.kind === 'to-one') return rows[0] ?? null;
      return related.wholeAfterMutation ? rows : pageOf(rows, context, args);
    });
  };
}

/** A related row or a list of them, as a list includes it. */
function listed(value: unknown): unknown {
  if (Array.isArray(value)) return listedRows(value);
  return value == null ? null : listedRows([value])[0];
}

/** The rows that a list would show, as seen by this transaction. */
async function read(
  row: Args,
  name: string,
  { kind, pairs }: Related,
  target: ControlObject,
  { db, principal }: ControlContext,
): Promise<readonly object[]> {
  const visible = target.visible(principal, identifier('r'));
  if (visible === 'none') return [];
  // Not every row has its tenant, which is the caller's.
  const known: Args = { tenantid: principal.tenantid, ...row };
  const wanted =
    kind === 'many-to-many'
      ? [[target.key[0], ownValue(known, name)]]
      : Object.entries(pairs).map(([here, there]) => [there, ownValue(known, here)]);
  if (wanted.some(([, value]) => value == null)) return [];
  const where = Object.fromEntries(wanted) as Record<string, string | number>;
  return readRows(db, target, where, visible === 'all' ? [] : [visible]);
}

/** Throws AppError BAD_USER_INPUT for arguments that only lists in queries support. */
function pageOf<T>(rows: readonly T[], { deps: { config } }: ControlContext, args: Args): readonly T[] {
  for (const arg of ['filter', 'ordering']) {
    if (ownValue(args, arg) != null)
      throw badInput(arg, `Lists in a mutation's response take limit and offset; query with ${arg}.`);
  }
  const limit = (args['limit'] as number | null | undefined) ?? config.listDefaultLimit;
  const offset = (args['offset'] as number | null | undefined) ?? 0;
  if (limit < 0 || limit > config.listMaxLimit || offset < 0) {
    throw badInput(
      'limit',
      `limit must be from 0 to ${config.listMaxLimit}, and offset must not be negative.`,
    );
  }
  return rows.slice(offset, offset + limit);
}
