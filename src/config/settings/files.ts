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
  fileUrlSeconds: setting(
    'FILE_URL_SECONDS',
    integer(10, 604_800),
    3_600,
    'Validity of upload URLs, and of the `url` of files in responses, in seconds.',
  ),
  fileLinkSeconds: setting(
    'FILE_LINK_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'Validity of links to files in emails, in seconds.',
  ),
  fileStallMs: setting(
    'FILE_STALL_MS',
    integer(100),
    30_000,
    'An upload or download that transfers less than 64 KiB in this time is aborted.',
  ),
  fileSweepMs: setting(
    'FILE_SWEEP_MS',
    integer(100),
    30_000,
    'How often leftovers of interrupted uploads and deleted rows are removed.',
  ),
  fileOrphanSeconds: setting(
    'FILE_ORPHAN_SECONDS',
    integer(0),
    3_600,
    'How long files of a row that was deleted with SQL are kept, in seconds. Files of a row deleted through the API are deleted immediately.',
  ),
} as const;
