// Run by tests as a process of its own: starts the embedded PostgreSQL of the folder given, prints a JSON line with its
// address, and keeps it until a signal comes.
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';

const [dataDir = '', throwaway] = process.argv.slice(2);
const server = await startEmbeddedPostgres({
  dataDir,
  throwaway: throwaway === 'throwaway',
  say: (line) => process.stderr.write(`${line}\n`),
});
process.stdout.write(`${JSON.stringify({ url: server.url, owned: server.owned })}\n`);
process.once('SIGTERM', () => {
  void server.stop().then(() => process.exit(0));
});
setInterval(() => undefined, 60_000);
