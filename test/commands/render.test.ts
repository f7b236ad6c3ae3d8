import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { runRender } from '../../src/commands/render.js';

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(argv: readonly string[], input: string | Buffer[] = ''): Promise<Finished> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const code = await runRender(argv, {
    stdin: Readable.from(typeof input === 'string' ? [Buffer.from(input)] : input),
    stdout,
    stderr,
  });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  return { code, stdout: out, stderr: err };
}

const lines = (finished: Finished) =>
  finished.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('rowpost render', () => {
  let folder: string;
  const file = (name: string) => path.join(folder, name);

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'render-'));
    await writeFile(file('page.html'), '<p>{{ name }} {{ total }}</p>\n');
    await writeFile(file('page.liquid'), '{{ name | upcase }}');
    await writeFile(file('broken.html'), 'Hello\n{% assign x = 1 %}');
    await writeFile(file('context.json'), '{"name": "<Ada>", "total": 10.0}');
  });
  after(() => rm(folder, { recursive: true }));

  it('prints a template with a context', async () => {
    expect(await run([file('page.html'), file('context.json')])).to.deep.equal({
      code: 0,
      stdout: '<p><Ada> 10.0</p>',
      stderr: '',
    });
  });

  it('escapes and renders Liquid on demand', async () => {
    expect(await run([file('page.html'), file('context.json'), '--autoescape'])).to.include({
      stdout: '<p>&lt;Ada&gt; 10.0</p>',
    });
    expect(await run([file('page.liquid'), file('context.json'), '--syntax', 'liquid'])).to.include({
      code: 0,
      stdout: '<ADA>',
    });
  });

  it('points at the error', async () => {
    const { code, stdout, stderr } = await run([file('broken.html')]);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.match(
      /broken\.html:2:4: Encountered unknown tag 'assign'\.\n {2}\{% assign x = 1 %\}\n {5}\^\n {2}hint: .*set/,
    );
  });

  it('exits with 2 for a wrong command line or file', async () => {
    for (const argv of [
      [],
      ['--nosuch'],
      [file('missing.html')],
      [file('page.html'), '--syntax', 'php'],
      ['--jsonl', 'x'],
    ]) {
      const { code, stderr } = await run(argv);
      expect(code, argv.join(' ')).to.equal(2);
      expect(stderr).to.match(/^rowpost render: /);
    }
  });

  it('processes JSON lines in order, reporting bad ones', async () => {
    const input = [
      '{"template": "{{ a }} {{ b }}", "context": {"a": 10.0, "b": 9007199254740993}, "autoescape": false}',
      'no json',
      '{"template": "{{ a }}", "context": {"a": "<"}, "autoescape": true}',
      '{"template": "{{ x", "context": {}}',
      '[1]',
      '{"template": 5}',
      '{"template": "{{ a | upcase }}", "context": {"a": "x"}, "syntax": "liquid"}',
      '{"template": "no context"}',
    ];
    const responses = lines(await run(['--jsonl'], input.join('\n')));
    const syntaxError = {
      message: "unexpected end of template, expected 'end of print statement'.",
      line: 1,
      column: 5,
      hint: 'close it with }}',
    };
    expect(responses).to.have.length(input.length);
    expect([responses[0], responses[2], responses[3], responses[6], responses[7]]).to.deep.equal([
      { output: '10.0 9007199254740993' },
      { output: '&lt;' },
      { error: syntaxError },
      { output: 'X' },
      { output: 'no context' },
    ]);
    for (const bad of [responses[1], responses[4], responses[5]])
      expect(bad).to.have.nested.property('error.message');
  });

  it('reads lines across chunk boundaries, split at newlines only', async () => {
    const bytes = Buffer.from('{"template": "é\u2028{{ a }}", "context": {"a": "😀"}}\n{"template": "b"}\n');
    const responses = lines(
      await run(
        ['--jsonl'],
        Array.from(bytes, (byte) => Buffer.from([byte])),
      ),
    );
    expect(responses).to.deep.equal([{ output: 'é\u2028😀' }, { output: 'b' }]);
  });

  it('handles thousands of lines', async () => {
    const input = Array.from({ length: 5_000 }, (_, i) =>
      JSON.stringify({ template: `${i} {{ n }}`, context: { n: i } }),
    );
    const responses = lines(await run(['--jsonl'], `${input.join('\n')}\n`));
    expect(responses).to.deep.equal(input.map((_, i) => ({ output: `${i} ${i}` })));
  });
});
