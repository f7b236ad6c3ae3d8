#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { ConfigError } from './config.js';
import { AppError, UsageError } from './errors.js';
import type { Command } from './commands/command.js';

/** Each command is loaded when it is called: `rowpost render` needs no database driver. */
const COMMANDS: Readonly<Record<string, { summary: string; usage?: string; load: () => Promise<Command> }>> =
  {
    release: {
      summary: 'Bring the database up to date.',
      load: async () => (await import('./commands/release.js')).release,
    },
    web: { summary: 'Serve HTTP.', load: async () => (await import('./commands/processes.js')).web },
    relay: {
      summary: 'Hand committed events to the queue.',
      load: async () => (await import('./commands/processes.js')).relay,
    },
    worker: {
      summary: 'Evaluate rules and send mail.',
      load: async () => (await import('./commands/processes.js')).worker,
    },
    all: {
      summary: 'release, web, relay and worker in one process.',
      load: async () => (await import('./commands/processes.js')).all,
    },
    demo: {
      summary: 'Try the whole service on an embedded database.',
      load: async () => (await import('./commands/demo.js')).demo,
    },
    tenant: {
      summary: 'create, sql or list tenants.',
      usage: `Usage:
  rowpost tenant create --name <name> --root-login <login> --root-password <password> [--schema <schema>]
  rowpost tenant sql --tenant <id> -f <file>
  rowpost tenant list`,
      load: async () => (await import('./commands/tenant.js')).tenant,
    },
    redrive: {
      summary: 'Send deliveries of a tenant again.',
      usage: `Usage:
  rowpost redrive --tenant <id> --delivery <id>    One delivery, whatever its end was.
  rowpost redrive --tenant <id> --filter <expr>    Those that ended as failed, skipped or unknown and that the filter chooses.`,
      load: async () => (await import('./commands/redrive.js')).redrive,
    },
    doctor: {
      summary: 'Look at everything that Rowpost stands on.',
      load: async () => (await import('./commands/doctor.js')).doctor,
    },
    token: {
      summary: 'rotate the key that signs tokens.',
      usage: `Usage:
  rowpost token rotate    Sign with a new key; tokens signed with the old one stay good until they expire.`,
      load: async () => (await import('./commands/token.js')).token,
    },
    password: {
      summary: "Set a role's password, pxadmin's too.",
      load: async () => (await import('./commands/password.js')).password,
    },
    render: {
      summary: 'Render a template file.',
      load: async () => (await import('./commands/render.js')).render,
    },
  };

const USAGE = `Usage: rowpost <command> [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(9)}${summary}`)
  .join('\n')}
`;

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

async function main(argv: readonly string[]): Promise<number> {
  const [name = 'help', ...args] = argv;
  if (['help', '--help', '-h'].includes(name)) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const command = COMMANDS[name];
  if (!command) throw new UsageError(`unknown command "${name}"\n\n${USAGE}`);
  if (name !== 'render' && (args.includes('--help') || args.includes('-h'))) {
    process.stdout.write(`${command.summary}\n\n${command.usage ?? `Usage:\n  rowpost ${name}`}\n`);
    return 0;
  }
  return (await command.load())(args);
}

/** One clear line for what the caller can mend; the stack for what only we can. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof ConfigError) return error.message;
  if (error instanceof AppError) return `${error.message} (${error.code}) ${error.hint}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

main(process.argv.slice(2)).then(
  // A server's command returns while the server goes on; then there is nothing to exit from.
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    process.stderr.write(`rowpost: ${explain(error)}\n`);
    process.exit(1);
  },
);
