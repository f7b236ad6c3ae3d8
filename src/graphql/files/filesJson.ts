import type { Table } from '../../db/catalog/catalog.js';
import { jsonString, ownTimeJson } from '../../db/catalog/types.js';
import { identifier, sql, textConstant, type Sql } from '../../db/sql/sql.js';
import { objectText } from '../read/jsonConcat.js';
import type { ReadContext } from '../read/readContext.js';
import type { SelectedFiles } from '../read/selection.js';
import { rowKey } from './rowKey.js';
import type { FieldNames } from './selectFiles.js';
import { keyPlaceholder, urlPlaceholder } from './fileUrls.js';

/** The files of the row `alias` as a JSON list. */
export function filesJson(context: ReadContext, { table, fields }: SelectedFiles, alias: Sql): Sql {
  const file = context.aliases.next();
  const files = sql`rowpost_tenant.files_of(${textConstant(table.sqlName)}, ${rowKey(table, alias)})`;
  const json = fileJson(context, table, alias, file, fields);
  return sql`(select '[' operator(pg_catalog.||) coalesce(pg_catalog.string_agg(${json}, ',' order by ${file}.filenum), '') operator(pg_catalog.||) ']' from ${files} ${file})`;
}

/** One file as JSON text. `row` determines whether it may be downloaded. */
export function fileJson(context: ReadContext, table: Table, row: Sql, file: Sql, fields: FieldNames): Sql {
  return objectJson(fields, (name) => {
    switch (name) {
      case '__typename':
        return '"FileObject"';
      case 'url':
        return urlJson(context, table, row, file);
      case 'storagekey':
        return keyJson(context, file);
      case 'filename':
      case 'mimetype':
        return jsonString(sql`${file}.${identifier(name)}`);
      case 'createtime':
        return ownTimeJson(sql`${file}.createtime`);
      default:
        return sql`pg_catalog.to_json(${file}.${identifier(name)})::pg_catalog.text`;
    }
  });
}

/** An object of these fields as JSON text. */
export function objectJson(fields: FieldNames, valueOf: (name: string) => string | Sql): Sql {
  return objectText(fields.map(([key, name]) => [key, valueOf(name)] as const));
}

function keyJson({ files }: ReadContext, file: Sql): Sql {
  const storagekey = sql`${file}.storagekey`;
  return files ? sql`(${keyPlaceholder(files, storagekey)})` : jsonString(storagekey);
}

function urlJson(context: ReadContext, table: Table, row: Sql, file: Sql): string | Sql {
  const { policy, files } = context;
  const reach = policy?.reach('download', table, row) ?? 'none';
  if (reach === 'none' || !files) return 'null';
  const placeholder = sql`(${urlPlaceholder(files, 'GET', sql`${file}.storagekey`)})`;
  return reach === 'all' ? placeholder : sql`case when ${reach} then ${placeholder} else 'null' end`;
}
