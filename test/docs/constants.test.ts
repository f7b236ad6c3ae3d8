import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CONSTANTS, deriveSettings } from '../../src/config/constants.js';
import { SETTINGS } from '../../src/config/settings.js';
import { CARRIERS } from '../../src/email/carriers/allCarriers.js';
import { MAX_RECORD_BYTES } from '../../src/db/outbox/recordSize.js';
import { ROLE_LIMITS } from '../../src/graphql/document/limits.js';

const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

const read = (page: string): string =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');

const seconds = (ms: number): string => `${ms / 1_000}`;
const count = (n: number): string => n.toLocaleString('en');
const anHour = (s: number): string => (s === 3_600 ? 'an hour' : `${s} seconds`);

/** What pages say of a figure, as they have to say it. */
type Said = readonly (readonly [page: string, text: string])[];

/** Of every constant. One that no reader needs to know has no page. */
const OF_CONSTANTS: { readonly [Name in keyof typeof CONSTANTS]: (value: number) => Said } = {
  relayPollMs: (ms) => [
    ['explanation/decisions', `the relay polls every ${ms} ms`],
    ['reference/capture-and-grants', `The relay polls for these events every ${ms} ms`],
  ],
  reconcileMs: (ms) => [
    ['explanation/guarantees', `compares the queue with the ledger at least every ${seconds(ms)} seconds`],
  ],
  schemaCheckMs: (ms) => [['reference/isolation', `is noticed within ${seconds(ms)} seconds`]],
  backoffBaseMs: (ms) => [['reference/email', `at first of up to ${seconds(ms)} seconds, doubled`]],
  ruleFiresPerMinute: (n) => [
    ['explanation/guarantees', `fires more than ${n} times for one record within a minute`],
  ],
  fileUrlSeconds: (s) => [['reference/limits', `| lifetime of a URL | ${anHour(s)};`]],
  fileSweepMs: (ms) => [['how-to/run', `deleted files every ${seconds(ms)} seconds`]],
  fileOrphanSeconds: (s) => [
    ['how-to/files', `the files are kept for ${anHour(s)}`],
    ['how-to/files', `they are lost after ${anHour(s)}`],
  ],
  fileStallMs: (ms) => [['reference/limits', `| 64 KiB in ${seconds(ms)} seconds |`]],
  responseStallMs: (ms) => [['reference/limits', `reads less than 64 KiB within ${seconds(ms)} seconds`]],
  listDefaultLimit: (n) => [
    ['reference/query', `A list returns ${n} rows by default`],
    ['reference/limits', `| rows of a list | ${n} by default`],
  ],
  tenantQueueLength: (n) => [
    ['reference/limits', `| Requests of one tenant that wait in a web process | ${n} |`],
  ],
  planningMsPerSecond: (ms) => [['reference/limits', `(${ms} and `]],
  anonymousPlanningMsPerSecond: (ms) => [['reference/limits', `and ${ms} ms a second)`]],
  lockTimeoutMs: () => [],
  oidcTimeoutMs: (ms) => [['explanation/security', `have a deadline of ${seconds(ms)} seconds`]],
  logLinesPerSecond: (n) => [['reference/metrics-and-alerts', `${n} a second each`]],
};

const part = (whole: number, of: number): string => {
  const name = new Map([
    [5, 'a fifth'],
    [6, 'a sixth'],
  ]).get(whole / of);
  return name ?? `${of} of ${whole}`;
};

/** What follows from settings of 600 each. */
const derived = deriveSettings({
  requestTimeoutMs: 600,
  maxResponseBytes: 600,
  anonymousRequestsPerMinute: 600,
  anonymousRolesPerMinute: 600,
  signInFailuresPerLogin: 600,
});
const times = (n: number): string =>
  ['', '', 'twice', '', '', '', '', '', 'eight times', '', 'ten times'][n / 600] ?? '';

/** From the first attempt to the last, where all fail: each waits for half of its backoff on average. */
const retriedForMs = Array.from({ length: SETTINGS.maxAttempts.fallback - 1 }, (_, attempt) =>
  Math.min(SETTINGS.backoffCapMs.fallback, CONSTANTS.backoffBaseMs * 2 ** attempt),
).reduce((sum, ms) => sum + ms / 2, 0);

const OTHERS: Said = [
  [
    'reference/metrics-and-alerts',
    `by default for ${Math.round(retriedForMs / 1_800_000) === 1 ? 'half an hour' : `${retriedForMs} ms`} on average`,
  ],
  ['how-to/run', `makes \`rowpost-${VERSION}.tgz\``],
  ['explanation/sizing', `\`PG_POOL\` (${SETTINGS.pgPool.fallback})`],
  ['explanation/sizing', `the default of ${SETTINGS.workerConcurrency.fallback} is too low`],
  ['reference/query', `A \`limit\` above ${count(SETTINGS.listMaxLimit.fallback)} (\`LIST_MAX_LIMIT\`)`],
  ['how-to/clients', `A list has at most ${count(SETTINGS.listMaxLimit.fallback)} rows`],
  ['reference/limits', `| tokens of a document | ${count(ROLE_LIMITS.tokens)};`],
  ['reference/limits', `| fields of a document, after fragment expansion | ${count(ROLE_LIMITS.fields)};`],
  ['reference/limits', `| nesting of selections | ${ROLE_LIMITS.depth} levels |`],
  ['reference/threats', `A row of more than ${MAX_RECORD_BYTES / 1_048_576} MiB`],
  ['reference/limits', `a part of ${times(derived.maxResponsesInFlightBytes)} \`MAX_RESPONSE_BYTES\``],
  ['reference/limits', `within ${times(derived.responseTimeoutMs)} \`REQUEST_TIMEOUT_MS\``],
  [
    'reference/limits',
    `\`ANONYMOUS_REQUESTS_PER_MINUTE\`, ${part(600, derived.anonymousRequestsPerAddress)} of it from one address`,
  ],
  ['reference/limits', `and ${part(600, derived.anonymousRowsPerMinute)} for rows that are written`],
  [
    'reference/limits',
    `\`ANONYMOUS_ROLES_PER_MINUTE\`, ${part(600, derived.anonymousRolesPerAddress)} of it from one address`,
  ],
  ['reference/limits', `${times(derived.signInFailuresBeforeDelay)} \`SIGN_IN_FAILURES_PER_LOGIN\``],
];

describe('figures of the documentation that are in the code', () => {
  for (const [name, says] of Object.entries(OF_CONSTANTS)) {
    it(`has ${name} as it is`, () => {
      for (const [page, text] of says(CONSTANTS[name as keyof typeof CONSTANTS])) {
        expect(read(page), page).to.include(text);
      }
    });
  }

  it('has the defaults of settings, other limits and parts of limits as they are', () => {
    for (const [page, text] of OTHERS) expect(read(page), page).to.include(text);
  });
});

describe('carriers that replace the Message-ID', () => {
  const rows = [
    ...read('how-to/carriers').matchAll(/\| \[([^\]]+)\]\(#[^)]+\)[^|]* \| `(\w+)` \| [^|]+ \| ([^|]+) \|/g),
  ];
  const named = rows.flatMap(([, title = '', , id]) => (id === 'its own' ? [title] : []));
  const listed = `${named.slice(0, -1).join(', ')} and ${named.at(-1) ?? ''} replace it with their own`;

  it('are the same on the page on guarantees', () => {
    expect(rows.map(([, , kind]) => kind)).to.deep.equal(CARRIERS.map(({ kind }) => kind));
    expect(named).to.have.length.above(1);
    expect(read('explanation/guarantees')).to.include(listed);
  });
});
