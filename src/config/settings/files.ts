import { DAY_SECONDS, setting } from './setting.js';
import { integer, mediaTypes, optional, storageAddress } from '../settingValues.js';

export const FILES = {
  storageUrl: setting(
    'STORAGE_URL',
    optional(storageAddress),
    undefined,
    'Where files are stored: `file:<folder>` or `s3://<bucket>[/<prefix>]?region=…&endpoint=…`. Required in production.',
    '`file:<ROWPOST_DATA_DIR>/files`',
  ),
  fileMaxBytes: setting(
    'FILE_MAX_BYTES',
    integer(1, 5_368_709_120),
    5_368_709_120,
    'Maximum size of a file, in bytes.',
  ),
  fileTypes: setting(
    'FILE_TYPES',
    mediaTypes,
    ['*/*'],
    'Allowed media types of files, comma-separated, such as `image/*,application/pdf`.',
    '`*/*`',
  ),
  fileLinkSeconds: setting(
    'FILE_LINK_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'Validity of links to files in emails, in seconds.',
  ),
} as const;
