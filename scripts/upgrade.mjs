// npm run upgrade: a rolling upgrade from another version under load; see fault/upgrade/run.ts.
import path from 'node:path';
import { fail, prepareProject, projectDir, runNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';

await prepareProject();
await findRedisServer().catch((error) => fail(error.message));
process.exit(
  runNode(['--import', 'tsx', path.join(projectDir, 'fault/upgrade/run.ts'), ...process.argv.slice(2)]),
);
