import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { runCommandLine } from '../../src/commands/commandLine.js';
import { UsageError } from '../../src/foundation/errors.js';
import { runRowpost, spawnRowpost } from '../support/rowpostProcess.js';

const PACKAGE = new URL('../../package.json', import.meta.url);

async function outputOf(...argv: string[]): Promise<string> {
  let written = '';
  const status = await runCommandLine(argv, (part) => {
    written += part;
  });
  expect(status, argv.join(' ')).to.equal(0);
  return written;
}

async function refusal(...argv: string[]): Promise<string> {
  const error: unknown = await outputOf(...argv).catch((caught: unknown) => caught);
  expect(error, argv.join(' ')).to.be.instanceOf(UsageError);
  return (error as UsageError).message;
}

describe('the command line of rowpost', () => {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };

  it('prints its version', async () => {
    for (const option of ['--version', '-v']) expect(await outputOf(option)).to.equal(`${version}\n`);
  });

  it('shows help for each listed command without running it', async () => {
    const overview = await outputOf();
    for (const option of ['--help', '-h', 'help']) expect(await outputOf(option)).to.equal(overview);
    const names = [...overview.matchAll(/^ {2}(\w+) +\S/gm)].map(([, name]) => name ?? '');
    expect(names).to.include.members(
      'release web relay worker all demo tenant redrive doctor token password render'.split(' '),
    );
    for (const name of names) {
      const help = await outputOf(name, '--help');
      expect(help).to.match(new RegExp(`^\\S.*\\n\\nUsage:\\n  rowpost ${name}\\b`));
      expect(await outputOf(name, '-h')).to.equal(help);
    }
    expect(await outputOf('tenant', 'sql', '--help')).to.equal(await outputOf('tenant', '-h'));
  });

  // Each command is a process of its own.
  it('shows usage for invalid arguments', async () => {
    const calls = ['tenant sql --tenant x -f y', 'token', 'password --tenant 1'];
    for (const argv of calls.map((call) => call.split(' '))) {
      const [name = ''] = argv;
      const usage = (await outputOf(name, '--help')).split('\n\n')[1] ?? 'none';
      const { code, stdout, stderr } = await runRowpost(argv, {});
      expect({ code, stdout }, argv.join(' ')).to.deep.equal({ code: 1, stdout: '' });
      expect(stderr.slice(stderr.indexOf('\n') + 1)).to.equal(usage);
    }
  });

  it('ends as usual when nobody reads its output any more', async () => {
    const child = spawnRowpost(['--help'], {});
    child.stdout?.destroy();
    let errors = '';
    child.stderr?.on('data', (part: Buffer) => (errors += part.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, errors }).to.deep.equal({ code: 0, errors: '' });
  });

  it('lists the commands for an unknown one', async () => {
    for (const name of ['nosuch', 'constructor', '__proto__']) {
      expect(await refusal(name)).to.equal(`unknown command "${name}"\n\n${await outputOf('--help')}`);
    }
  });

  it('is what the binary runs', async () => {
    expect(await runRowpost(['--version'], {})).to.deep.equal({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });
});
