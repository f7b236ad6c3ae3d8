import { readVersion } from '../foundation/version.js';
import { UsageError } from '../foundation/errors.js';
import { ownValue } from '../foundation/ownValue.js';
import { ArgumentError, type Command } from './command.js';

interface Declaration {
  readonly summary: string;
  /** Usage lines; by default only the name. */
  readonly usage?: readonly string[];
  /** Loaded lazily: `rowpost render` needs no database driver. */
  readonly load: () => Promise<Command>;
}

/** docs/reference/cli.md is generated from them. */
export const COMMANDS: Readonly<Record<string, Declaration>> = {
  release: {
    summary: 'Bring the database up to date.',
    usage: [
      'rowpost release [--id-range <n>]    Starts ids of tenants and roles at n × 10 million (n: 0 to 213), for installations that exchange tenants.',
    ],
    load: async () => (await import('./release.js')).release,
  },
  restore: {
    summary: 'Restore a dump of all tenants into an empty database.',
    usage: [
      "rowpost restore --file <file>    Each tenant's schema as the tenant: see docs/how-to/backup.md. Repeated, restores those that are missing.",
    ],
    load: async () => (await import('./restore.js')).restore,
  },
  web: { summary: 'Serve HTTP.', load: async () => (await import('./processes.js')).web },
  relay: {
    summary: 'Hand committed events to the queue.',
    load: async () => (await import('./processes.js')).relay,
  },
  worker: {
    summary: 'Evaluate rules and send email.',
    load: async () => (await import('./processes.js')).worker,
  },
  all: {
    summary: 'Run release, web, relay and worker in one process.',
    load: async () => (await import('./processes.js')).all,
  },
  demo: {
    summary: 'Try the whole service on an embedded database.',
    usage: ['rowpost demo [--once]    With --once, exits: with 0 if every email arrived.'],
    load: async () => (await import('./demo.js')).demo,
  },
  tenant: {
    summary: 'Create, change, move and list tenants.',
    usage: [
      'rowpost tenant create --name <name> --root-login <login> --root-password-file <file> [--schema <schema>]    The password is the first line of the file, - for stdin.',
      'rowpost tenant adopt --name <name> --schema <schema> --root-login <login> --root-password-file <file> [--print-sql]',
      'rowpost tenant adopt --schema <schema> --print-sql    Prints the grants that the owners of its tables still have to run.',
      'rowpost tenant release --tenant <id>    Deletes the tenant and releases its adopted schema.',
      'rowpost tenant release --tenant <id> --print-sql    Only prints the statements that revoke its grants.',
      'rowpost tenant sql --tenant <id> -f <file>    Runs a script as the tenant; - for stdin.',
      'rowpost tenant capture --tenant <id> --table <table> --writers api|all    Sets whose changes become events.',
      'rowpost tenant capture --tenant <id> --table <pattern,…> [--except <pattern,…>] --writers api|all [--print-sql]    The same for many tables: * in a pattern stands for any text. If it is interrupted, run it again. --print-sql only prints the statements.',
      'rowpost tenant suspend --tenant <id>    Blocks all access; email for earlier changes is still sent.',
      'rowpost tenant resume --tenant <id>',
      'rowpost tenant export --tenant <id> --file <file> [--tables <file>]    Writes its settings, and its tables unless they are adopted: see docs/how-to/backup.md.',
      'rowpost tenant import --file <file> [--tables <file>] [--adopt <schema>] [--foreign]    --foreign for a file of another installation.',
      'rowpost tenant move --tenant <id> --to <cell>    Moves the tenant to another cell; its writes, and at the end all its requests, are rejected meanwhile: see docs/how-to/cells.md.',
      'rowpost tenant move --tenant <id> --to <cell> --estimate    Says how long that would take.',
      'rowpost tenant move --tenant <id> --to <cell> --follow    Lets the target follow the tables of a large tenant, before it is moved.',
      'rowpost tenant move --tenant <id> --abort    Undoes an interrupted move, or --follow.',
      'rowpost tenant list',
    ],
    load: async () => (await import('./tenant.js')).tenant,
  },
  directory: {
    summary: 'Manage the directory of cells.',
    usage: [
      'rowpost directory release    Brings its database up to date.',
      'rowpost directory list    Lists the cells.',
      'rowpost directory map    Prints which cell a proxy sends each tenant to: see deploy/proxy/cells.cfg.',
    ],
    load: async () => (await import('./directory.js')).directory,
  },
  redrive: {
    summary: 'Send deliveries of a tenant again.',
    usage: [
      'rowpost redrive --tenant <id> --delivery <id>    One delivery that has ended, even as sent.',
      'rowpost redrive --tenant <id> --filter <expr>    All failed, skipped or unknown deliveries that match the filter.',
      'rowpost redrive --paused <tenant id>|all    Paused deliveries, once the carrier accepts the unchanged account again.',
    ],
    load: async () => (await import('./redrive.js')).redrive,
  },
  explain: {
    summary: "Show a GraphQL document's SQL and its plans.",
    usage: [
      "rowpost explain --tenant <id> --role <id> --query '<document>' [--variables '<JSON object>'] [--operation <name>]",
      '    Shows what /query would run for this role, without running it; values are shown as $1, $2, …',
    ],
    load: async () => (await import('./explain.js')).explain,
  },
  schema: {
    summary: 'Print the GraphQL schema of an endpoint, for code generators.',
    usage: [
      'rowpost schema --tenant <id> [--role <id>]    /query of the tenant, or as this role sees it.',
      'rowpost schema --endpoint roles_pbac    Does not need the database.',
    ],
    load: async () => (await import('./schema.js')).schema,
  },
  why: {
    summary: 'Explain what became of the changes to a row, or why nothing happened.',
    usage: [
      'rowpost why --tenant <id> --table <table> --key <key>',
      `    The key is a value such as 7, or '{"order_id": 7, "line": 1}'. Changes nothing.`,
    ],
    load: async () => (await import('./why.js')).why,
  },
  doctor: {
    summary: 'Check everything that Rowpost depends on.',
    load: async () => (await import('./doctor.js')).doctor,
  },
  token: {
    summary: 'Rotate the key that signs tokens.',
    usage: [
      'rowpost token rotate    Signs with a new key; tokens signed with the old one stay valid until they expire.',
    ],
    load: async () => (await import('./token.js')).token,
  },
  password: {
    summary: "Set a role's password, including pxadmin's.",
    usage: [
      'rowpost password --tenant <id> --login <login>    The password is the first line of stdin; on a terminal, the command prompts for it.',
    ],
    load: async () => (await import('./password.js')).password,
  },
  render: {
    summary: 'Render a template file.',
    usage: [
      'rowpost render <template-file> [context.json] [--autoescape] [--syntax liquid] [--layouts <folder>]',
      'rowpost render --jsonl < lines.jsonl',
    ],
    load: async () => (await import('./render.js')).render,
  },
};

/** Runs `rowpost` with its arguments. @returns the exit status. Throws UsageError for invalid arguments. */
export async function runCommandLine(
  argv: readonly string[],
  write: (text: string) => void,
): Promise<number> {
  const [name = 'help', ...args] = argv;
  if (['help', '--help', '-h'].includes(name)) {
    write(overview());
    return 0;
  }
  if (name === '--version' || name === '-v') {
    write(`${readVersion()}\n`);
    return 0;
  }
  const command = ownValue(COMMANDS, name);
  if (!command) throw new UsageError(`unknown command "${name}"\n\n${overview()}`);
  if (args.includes('--help') || args.includes('-h')) {
    write(`${command.summary}\n\n${usageOf(name, command)}\n`);
    return 0;
  }
  const run = await command.load();
  return run(args).catch((error: unknown) => {
    if (!(error instanceof ArgumentError)) throw error;
    throw new UsageError(`${error.message}\n${usageOf(name, command)}`);
  });
}

function overview(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}\n`);
  return `Usage: rowpost <command> [options]\n\n${lines.join('')}\nRun "rowpost <command> --help" for details, and "rowpost --version" for the version.\n`;
}

export function usageLines(name: string, { usage = [`rowpost ${name}`] }: Declaration): readonly string[] {
  return usage;
}

function usageOf(name: string, command: Declaration): string {
  return ['Usage:', ...usageLines(name, command).map((line) => `  ${line}`)].join('\n');
}
