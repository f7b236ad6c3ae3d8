import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript';

interface HostileCase {
  readonly id: string;
  readonly template?: string;
  /** The template as pieces and how often each is repeated. */
  readonly parts?: readonly (readonly [piece: string, times: number])[];
  readonly context?: Record<string, unknown>;
  /** The context as pieces of JSON text and how often each is repeated. */
  readonly contextParts?: readonly (readonly [piece: string, times: number])[];
  readonly syntax?: string;
}

interface HostileResult {
  readonly id: string;
  readonly exitCode: number | null;
  readonly outcome?: {
    readonly ok: boolean;
    readonly name?: string;
    readonly kind?: string;
    readonly message?: string;
  };
  readonly cpuMs: number;
  readonly growthMb: number;
  readonly escaped: boolean;
}

const HERE = path.resolve(import.meta.dirname, '..');
const SOURCE = path.resolve(HERE, '../src');
/** Within node_modules, so that the library's own dependencies are found from there. */
const BUILT = path.resolve(HERE, `../../../node_modules/.cache/rowpost-hostile-${process.pid}`);
const AT_ONCE = 2;
/**
 * Loading the library takes ten times as long as a case. What a case leaves in its process can only count against the
 * cases after it: 1 gives each a process of its own, to find out which one it was.
 */
const CASES_PER_PROCESS = Number(process.env['HOSTILE_CASES_PER_PROCESS'] ?? 11);
const MS_PER_CASE = 10_000;

/** Plain JavaScript of the library: a loader in each process would cost more than the templates. */
async function buildLibrary(): Promise<void> {
  for (const file of await readdir(SOURCE, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const source = await readFile(path.join(SOURCE, file), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
      },
    });
    const target = path.join(BUILT, file.replace(/\.ts$/, '.js'));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  await writeFile(path.join(BUILT, 'package.json'), '{"type":"module"}');
}

function repeated(parts: readonly (readonly [piece: string, times: number])[]): string {
  return parts.map(([piece, times]) => piece.repeat(times)).join('');
}

/** Runs cases one after the other in one process. @returns the results up to the first that ended it, and the rest of the cases */
async function runProcess(
  cases: readonly HostileCase[],
): Promise<{ readonly results: readonly HostileResult[]; readonly left: readonly HostileCase[] }> {
  const library = pathToFileURL(path.join(BUILT, 'compileTemplate.js')).href;
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=512', '--expose-gc', path.join(HERE, 'hostileProcess.mjs'), library],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {},
      timeout: MS_PER_CASE * cases.length,
    },
  );
  child.stdin.end(JSON.stringify(cases.map(toInput)));
  const exited = once(child, 'close') as Promise<[number | null]>;
  const printed = await text(child.stdout);
  const [exitCode] = await exited;
  const lines = printed.split('\n').filter((line) => line !== '');
  const results = lines.map((line, index): HostileResult => ({
    ...(JSON.parse(line) as Omit<HostileResult, 'id' | 'exitCode'>),
    id: cases[index]!.id,
    exitCode: index === cases.length - 1 ? exitCode : 0,
  }));
  const [fatal, ...left] = cases.slice(results.length);
  if (fatal !== undefined)
    results.push({ id: fatal.id, exitCode, cpuMs: Infinity, growthMb: Infinity, escaped: true });
  return { results, left };
}

function toInput({ template, parts = [], context, contextParts, syntax }: HostileCase): object {
  const contextJson = contextParts && repeated(contextParts);
  return { template: template ?? repeated(parts), context, contextJson, syntax };
}

async function runAll(cases: readonly HostileCase[]): Promise<HostileResult[]> {
  const results: HostileResult[] = [];
  const waiting = [...cases];
  const runner = async () => {
    while (waiting.length > 0) {
      const ran = await runProcess(waiting.splice(0, CASES_PER_PROCESS));
      results.push(...ran.results);
      waiting.push(...ran.left);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
  return results;
}

describe('hostile templates, in processes with a 512 MB heap', function () {
  let cases: readonly HostileCase[];
  let results: readonly HostileResult[];

  before(async () => {
    await buildLibrary();
    const lines = (await readFile(path.join(HERE, 'hostile.jsonl'), 'utf8')).trim().split('\n');
    cases = lines.map((line) => JSON.parse(line) as HostileCase);
    results = await runAll(cases);
  });

  after(() => rm(BUILT, { recursive: true, force: true }));

  const offenders = (bad: (result: HostileResult) => boolean) =>
    results
      .filter(bad)
      .map(
        ({ id, cpuMs, growthMb, outcome }) =>
          `${id}: ${Math.round(cpuMs)} ms, ${Math.round(growthMb)} MB, ${JSON.stringify(outcome)}`,
      );

  it('are at least a hundred, and each is checked', () => {
    expect(results.length).to.be.at.least(100);
    expect(results.map(({ id }) => id)).to.have.members(cases.map(({ id }) => id));
  });
  it('abort no process', () => expect(offenders(({ exitCode }) => exitCode !== 0)).to.deep.equal([]));
  it('run no code and pollute no prototype', () =>
    expect(offenders(({ escaped }) => escaped)).to.deep.equal([]));
  it('take at most 2 s of processor time', () =>
    expect(offenders(({ cpuMs }) => cpuMs > 2_000)).to.deep.equal([]));
  it('take at most 200 MB', () => expect(offenders(({ growthMb }) => growthMb > 200)).to.deep.equal([]));
  it('fail as template errors, never as bugs', () =>
    expect(
      offenders(({ outcome }) => outcome?.ok === false && outcome.name !== 'TemplateError'),
    ).to.deep.equal([]));
});
