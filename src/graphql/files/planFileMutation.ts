import { GraphQLString } from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { jsonString, ownTimeJson } from '../../db/catalog/types.js';
import { identifier, join, param, sql, textConstant, type Slot, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { sanitizeFileName } from '../../files/fileName.js';
import { argumentNode, argumentSlot } from '../read/argument.js';
import type { FieldNodes } from '../read/collectFields.js';
import { SCALARS } from '../schema/scalars.js';
import { byKey } from '../write/changeSql.js';
import { keySlots } from '../write/keyArgs.js';
import type { PlannedMutation } from '../write/planMutation.js';
import { changeable, refuse, type WriteContext } from '../write/writeContext.js';
import { fileJson, objectJson } from './filesJson.js';
import { dropFile, PRIOR, priorRow, T } from './fileStatements.js';
import { FILE_INPUT } from './fileTypes.js';
import { urlPlaceholder, type FileOptions } from './fileUrls.js';
import { rowKey } from './rowKey.js';
import { fieldNames } from './selectFiles.js';

/** Plans `upload_<t>` and `delete_file_<t>`; undefined for any other mutation. Throws AppError. */
export function planFileMutation(context: WriteContext, nodes: FieldNodes): PlannedMutation | undefined {
  const { files } = context;
  const field = nodes[0].name.value;
  if (!files) return undefined;
  const uploaded = fileTable(context, field, 'upload_');
  if (uploaded) return { table: uploaded, statements: [upload(context, uploaded, nodes, files)] };
  // `delete_file_<t>` is also the delete mutation of a table named file_<t>, which takes precedence.
  if (context.catalog.tables.has(field.slice('delete_'.length))) return undefined;
  const emptied = fileTable(context, field, 'delete_file_');
  return emptied && { table: emptied, statements: [deleteFile(context, emptied, nodes)] };
}

function fileTable({ catalog }: WriteContext, field: string, verb: string): Table | undefined {
  const table = field.startsWith(verb) ? catalog.tables.get(field.slice(verb.length)) : undefined;
  return table?.fileColumn ? table : undefined;
}

/** Creates a pending upload: nothing is stored, and no event written, until the bytes arrive. */
function upload(context: WriteContext, table: Table, nodes: FieldNodes, files: FileOptions): Sql {
  const input = argumentSlot(argumentNode(nodes[0], 'input'), FILE_INPUT);
  const given: (read: (values: UploadInput) => unknown) => Slot = (read) => (inputs) =>
    read(input(inputs) as UploadInput);
  const prior = priorRow(
    table,
    byKey(table, T, keySlots(table, 'upload', nodes[0])),
    changeable(context, 'upload', table, T),
    'read',
  );
  const size = param(
    given((values) => readSize(values.size, files.maxBytes)),
    'int8',
  );
  const promise = sql`rowpost_tenant.promise_upload(${join([
    param((inputs) => inputs.principal['roleid'], 'int4'),
    textConstant(table.sqlName),
    rowKey(table, PRIOR),
    param(
      given((values) => values.filenum ?? null),
      'int4',
    ),
    param(
      given((values) => sanitizeFileName(values.filename)),
      'text',
    ),
    param(
      given((values) => readMimetype(values.mimetype)),
      'text',
    ),
    size,
    param(() => files.urlSeconds, 'int4'),
  ])}) p`;
  const p = identifier('p');
  const json = objectJson(fieldNames(context, 'FileUpload', nodes), (name) => {
    if (name === '__typename') return '"FileUpload"';
    if (name === 'storagekey') return jsonString(sql`${p}.storagekey`);
    if (name === 'expires') return ownTimeJson(sql`${p}.expires`);
    return sql`(${urlPlaceholder(files, 'PUT', sql`${p}.storagekey`, size)})`;
  });
  return sql`with ${prior} select coalesce((select ${json} from prior, lateral ${promise}), ${refuse('notFound')})`;
}

function deleteFile(context: WriteContext, table: Table, nodes: FieldNodes): Sql {
  const [node] = nodes;
  const storagekey = argumentSlot(argumentNode(node, 'storagekey'), GraphQLString);
  const filenum = argumentSlot(argumentNode(node, 'filenum'), SCALARS.Int);
  const which = {
    storagekey: param((inputs) => {
      const key = storagekey(inputs) ?? null;
      if (key === null && filenum(inputs) == null) throw neither();
      return key;
    }, 'uuid'),
    filenum: param((inputs) => filenum(inputs) ?? null, 'int4'),
  };
  const prior = priorRow(
    table,
    byKey(table, T, keySlots(table, 'delete_file', node)),
    changeable(context, 'upload', table, T),
    'lock',
  );
  // A deleted file has no URL.
  const json = (file: Sql): Sql =>
    fileJson({ ...context, policy: undefined }, table, PRIOR, file, fieldNames(context, 'FileObject', nodes));
  return dropFile(table, prior, which, json);
}

interface UploadInput {
  readonly filename: string;
  readonly mimetype?: string | null;
  readonly size?: number | null;
  readonly filenum?: number | null;
}

function readSize(size: number | null | undefined, maxBytes: number): number | null {
  if (size == null) return null;
  const details = { argument: 'input.size' };
  if (size < 0) throw new AppError('BAD_USER_INPUT', 'size must not be negative.', { details });
  if (size <= maxBytes) return size;
  throw new AppError('FILE_TOO_LARGE', `The file is larger than the limit of ${maxBytes} bytes.`, {
    details,
  });
}

function readMimetype(given: string | null | undefined): string | null {
  if (given == null || given.trim() === '') return null;
  if (/^[\w.+-]{1,100}\/[\w.+-]{1,100}(;[\x20-\x7e]{0,200})?$/.test(given.trim())) return given.trim();
  throw new AppError('BAD_USER_INPUT', 'mimetype must be a type such as image/png.', {
    details: { argument: 'input.mimetype' },
  });
}

function neither(): AppError {
  return new AppError('BAD_USER_INPUT', 'Pass storagekey or filenum.', {
    details: { argument: 'storagekey' },
  });
}
