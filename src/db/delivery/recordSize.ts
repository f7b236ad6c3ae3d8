/** Largest row, before or after a change, that a worker reads: it holds dozens of them at once. */
export const MAX_RECORD_BYTES = 8_388_608;

/** No compression of PostgreSQL's makes a text smaller than by this factor. */
const MAX_COMPRESSED = 300;

/** SQL: whether a json column is larger than a worker reads. What is stored small need not be unpacked for that. */
export const isTooLargeSql = (json: string): string =>
  `(case when pg_column_size(${json}) > ${Math.floor(MAX_RECORD_BYTES / MAX_COMPRESSED)}
    then octet_length(${json}::text) > ${MAX_RECORD_BYTES} else false end)`;

/** SQL: a json column as text; null where it is larger. */
export const recordTextSql = (json: string): string =>
  `(case when ${isTooLargeSql(json)} then null else ${json}::text end)`;

export const RECORD_TOO_LARGE = `a row of more than ${MAX_RECORD_BYTES / 1_048_576} MiB can't be mailed about`;
