import type { FragmentDefinitionNode } from 'graphql';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import type { FileOptions } from '../files/fileUrls.js';
import type { AliasSource, RowAccess } from '../filter/rows/scope.js';
import type { Policy } from '../policy/policy.js';
import type { RequestFilters } from './requestFilters.js';

/** What the compilation of one operation shares. */
export interface ReadContext {
  readonly catalog: Catalog;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Only for what the plan depends on (filter shapes, orderings, directives); other values are read at run time. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly access: RowAccess;
  readonly aliases: AliasSource;
  readonly filters: RequestFilters;
  readonly limits: { readonly defaultLimit: number; readonly maxLimit: number };
  /** Whether fields that the catalog lacks are left to the caller's own resolvers. */
  readonly skipUnknown?: boolean;
  /** For file URLs, which need `files` too. */
  readonly policy?: Policy | undefined;
  readonly files?: FileOptions | undefined;
  /** Whether numerics are marked as Decimals for templates, see `templateJson`. */
  readonly marksNumerics?: boolean | undefined;
}

export function tableNamed(catalog: Catalog, name: string): Table {
  const table = catalog.tables.get(name);
  if (!table) throw new AppError('UNKNOWN_TABLE', `There is no table ${name}.`);
  return table;
}
