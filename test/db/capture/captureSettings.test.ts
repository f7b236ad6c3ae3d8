import { expect } from 'chai';
import { openSettingsFixture, type SettingsFixture } from './settingsFixture.js';

/** Those that decide how values and statements are read and shown; `test/slow` has all. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  standard_conforming_strings: ['off'],
  backslash_quote: ['on', 'off'],
  escape_string_warning: ['off'],
  array_nulls: ['off'],
  bytea_output: ['escape', 'hex'],
  IntervalStyle: ['postgres', 'postgres_verbose', 'sql_standard'],
  extra_float_digits: ['-15', '3'],
  quote_all_identifiers: ['on'],
  row_security: ['off'],
  default_transaction_isolation: ['serializable', 'repeatable read', 'read uncommitted'],
  default_transaction_deferrable: ['on'],
  transform_null_equals: ['on'],
  xmloption: ['document'],
  debug_parallel_query: ['on', 'regress'],
  plan_cache_mode: ['force_generic_plan', 'force_custom_plan'],
  TimeZone: ['Asia/Kathmandu'],
  DateStyle: ['SQL, DMY', 'Postgres, YMD', 'German'],
  search_path: ['pg_temp, public', ''],
  client_encoding: ['SQL_ASCII', 'LATIN1'],
  lc_monetary: ['C', 'POSIX'],
  lc_numeric: ['POSIX'],
  lc_time: ['POSIX'],
  timezone_abbreviations: ['Australia'],
  restrict_nonsystem_relation_kind: ['view', 'view, foreign-table'],
  default_text_search_config: ['pg_catalog.german'],
  'plpgsql.extra_errors': ['all'],
  'plpgsql.extra_warnings': ['all'],
  'rowpost.roleid': ['x', '-1', '99999999999', '1; drop'],
  'rowpost.uploading': ['on', 'x'],
  'rowpost.traceparent': ['x'.repeat(100), '\\'],
};

describe("a writer's settings", () => {
  let fixture: SettingsFixture;
  before(async () => (fixture = await openSettingsFixture()));
  after(() => fixture.close());

  it('neither fail a write nor change an event', async () => {
    expect(await fixture.check(Object.entries(SETTINGS))).to.be.greaterThan(35);
  });
});
