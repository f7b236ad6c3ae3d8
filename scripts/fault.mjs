// npm run fault: kills the processes at every moment that matters and accounts for every email; see fault/options.ts.
import path from 'node:path';
import { fail, prepareProject, projectDir, runNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';

await prepareProject();
await findRedisServer().catch((error) => fail(error.message));
process.exit(runNode(['--import', 'tsx', path.join(projectDir, 'fault/run.ts'), ...process.argv.slice(2)]));
