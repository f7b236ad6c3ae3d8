import type { FragmentDefinitionNode } from 'graphql';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../errors.js';
import type { FileTerms } from '../files/fileUrls.js';
import type { AliasSource, RowAccess } from '../filter/scope.js';
import type { Policy } from '../policy/policy.js';

/** Shared by the compilation of one operation. */
export interface ReadContext {
  readonly catalog: Catalog;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** For what decides the plan (filters' shapes, orderings, directives); all other values are read when it runs. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly access: RowAccess;
  readonly aliases: AliasSource;
  readonly limits: { readonly defaultLimit: number; readonly maxLimit: number };
  /** Whether fields that the catalog lacks are left to the caller's own resolvers. */
  readonly skipUnknown?: boolean;
  /** For file URLs; without both there are none. */
  readonly policy?: Policy | undefined;
  readonly files?: FileTerms | undefined;
  /** Numerics carry the mark of templates' Decimals: see `templateJson`. */
  readonly marksNumerics?: boolean | undefined;
}

export function tableNamed(catalog: Catalog, name: string): Table {
  const table = catalog.tables.get(name);
  if (!table) throw new AppError('UNKNOWN_TABLE', `There is no table ${name}.`);
  return table;
}
