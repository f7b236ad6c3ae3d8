/* Import rules between folders (docs/architecture.md): who may know whom. */
const only = (name, comment, to, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^src/', pathNot: allowed },
  to: { path: `^node_modules/(${to})(/|$)` },
});
/** Imports point downwards: a folder imports those above it in this list, never one below or beside it. */
const LAYERS = [
  ['foundation'],
  ['config'],
  ['db'],
  ['files', 'queue'],
  ['graphql'],
  ['email'],
  ['control'],
  ['health', 'embedded'],
  ['relay', 'worker', 'api'],
  ['process'],
  ['commands'],
];
const downwards = LAYERS.flatMap((layer, depth) =>
  layer.map((folder) => {
    const others = [...layer.filter((other) => other !== folder), ...LAYERS.slice(depth + 1).flat()];
    return {
      name: `${folder}-imports-downwards`,
      severity: 'error',
      from: { path: `^src/${folder}/` },
      to: { path: `^src/(${[...others, 'main\\.ts'].join('|')})(/|$)` },
    };
  }),
);

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-imports-main', severity: 'error', from: {}, to: { path: '^src/main\\.ts$' } },
    {
      name: 'ship-only-dependencies',
      severity: 'error',
      from: { path: '^(src|packages/[^/]+/src)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    ...downwards,
    {
      name: 'packages-stand-alone',
      comment: 'A package imports its own files and dependencies only.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^(src|packages)/', pathNot: '^packages/$1/' },
    },
    {
      name: 'packages-by-their-exports',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^packages/', pathNot: '^packages/jinja2/src/(index|jsonReader|suggestion)\\.ts$' },
    },
    {
      name: 'wire-by-its-index',
      comment:
        "Only one folder knows pg's private parts; the folders that own connections use it by its index.",
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/db/wire/' },
      to: { path: '^src/db/wire/', pathNot: '^src/db/wire/index\\.ts$' },
    },
    {
      name: 'wire-for-owners-of-connections',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/db/(pool|wire|isolation|failover)/' },
      to: { path: '^src/db/wire/' },
    },
    {
      name: 'wire-is-lowest',
      severity: 'error',
      from: { path: '^src/db/wire/' },
      to: { path: '^src/db/', pathNot: '^src/db/(wire|sql)/' },
    },
    only('pg-in-db', 'Only src/db knows PostgreSQL.', 'pg', '^src/db/'),
    only('knex-for-migrations', 'Other SQL is built by src/db/sql.', 'knex', '^src/db/schema/'),
    only(
      'opentelemetry-in-tracing',
      'Spans are made in one folder.',
      '@opentelemetry',
      '^src/foundation/observability/tracing/',
    ),
    only('express-in-api', 'HTTP lives in src/api.', 'express|helmet', '^src/api/'),
    only('queue-in-one-place', 'bullmq and ioredis behind one folder.', 'bullmq|ioredis', '^src/queue/'),
    only(
      'sendgrid-in-one-file',
      'One file per carrier library.',
      '@sendgrid',
      '^src/email/carriers/sendgrid/sendgrid\\.ts$',
    ),
    only(
      'nodemailer-in-two-files',
      'Messages are made in one file, and sent to servers in another.',
      'nodemailer',
      '^src/email/(message/mime|carriers/smtp/smtpSession)\\.ts$',
    ),
    only('s3-in-one-file', 'One file per storage library.', '@aws-sdk', '^src/files/storage/s3Storage\\.ts$'),
    only('openid-in-oidc', 'One folder for sign-in.', 'openid-client', '^src/api/oidc/'),
    only(
      'liquidjs-in-one-file',
      "Our own pages use it plainly; tenants' templates are rendered by packages/jinja2.",
      'liquidjs',
      '^src/api/pages/sendPage\\.ts$',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
  },
};
