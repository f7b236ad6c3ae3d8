// npm run outages: outages of an installation, determined by the shipped alert rules; see fault/outages/run.ts.
import path from 'node:path';
import { fail, prepareProject, projectDir, runNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';

await prepareProject();
await findRedisServer().catch((error) => fail(error.message));
process.exit(
  runNode(['--import', 'tsx', path.join(projectDir, 'fault/outages/run.ts'), ...process.argv.slice(2)]),
);
