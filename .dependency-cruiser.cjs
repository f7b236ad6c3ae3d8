/* The house's walls (docs/architecture.md): who may know whom. */
const only = (name, comment, to, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^src/', pathNot: allowed },
  to: { path: `^node_modules/(${to})(/|$)` },
});
const apart = (from, to) => ({
  name: `${from}-not-${to.join('-').replaceAll('\\', '')}`,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: `^src/(${to.join('|')})(/|$)` },
});
const TOP = ['api', 'relay', 'worker', 'embedded'];
const ABOVE_DB = ['graphql', 'templates', 'email', 'control', ...TOP];

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-imports-main', severity: 'error', from: {}, to: { path: '^src/main\\.ts$' } },
    {
      name: 'ship-only-dependencies',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    apart('files', ['config\\.ts', 'db', 'queue', ...ABOVE_DB]),
    apart('db', ABOVE_DB),
    apart('queue', ABOVE_DB),
    apart('templates', ['db', ...ABOVE_DB.filter((folder) => folder !== 'templates')]),
    apart('graphql', ['email', 'control', ...TOP]),
    apart('email', ['queue', 'control', ...TOP]),
    apart('control', ['queue', ...TOP]),
    apart('api', ['relay', 'worker', 'embedded']),
    apart('relay', ['api', 'worker', 'graphql', 'templates', 'email', 'control', 'embedded']),
    apart('worker', ['api', 'relay', 'control', 'embedded']),
    {
      name: 'wire-in-connection',
      comment: 'How statements travel is private to the folder that owns the connections.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/db/connection/' },
      to: {
        path: '^src/db/connection/(connectionPool|deadline|messageLimit|oneWrite|pipelinedConnection|tickBatcher|wireMessages|wireText)\\.ts$',
      },
    },
    only('pg-and-knex-in-db', 'Only src/db knows PostgreSQL.', 'pg|knex', '^src/db/'),
    only('opentelemetry-in-tracing', 'Spans are made in one folder.', '@opentelemetry', '^src/tracing/'),
    only('express-in-api', 'HTTP lives in src/api.', 'express|helmet', '^src/api/'),
    only('queue-in-one-place', 'bullmq and ioredis behind one folder.', 'bullmq|ioredis', '^src/queue/'),
    only(
      'sendgrid-in-one-file',
      'One file per provider library.',
      '@sendgrid',
      '^src/email/mail/sendgrid\\.ts$',
    ),
    only(
      'nodemailer-in-two-files',
      'Messages are made in one file, and sent to servers in another.',
      'nodemailer',
      '^src/email/mail/(mime|smtp/smtpSession)\\.ts$',
    ),
    only('s3-in-one-file', 'One file per storage library.', '@aws-sdk', '^src/files/storage/s3Storage\\.ts$'),
    only('openid-in-oidc', 'One folder for sign-in.', 'openid-client', '^src/api/oidc/'),
    only(
      'liquidjs-in-templates',
      "Tenants' templates live in src/templates, and our own pages use the same library plainly.",
      'liquidjs',
      '^src/(templates/|api/pages/sendPage\\.ts$)',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
  },
};
