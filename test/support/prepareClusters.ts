// Run by npm test before the first test.
import { prepareClusters } from './postgresServer.js';

await prepareClusters();
