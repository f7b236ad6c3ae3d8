import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { compileTemplate, TemplateError, type LayoutSources, type Syntax } from 'rowpost-jinja2';
import type { Command } from './command.js';
import { renderJsonLines } from './renderJsonLines.js';

/** The streams of a command. */
interface Streams {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

export const render: Command = (argv) =>
  runRender(argv, { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });

/** An error of the command itself rather than of a template. */
class CommandError extends Error {}

/**
 * `rowpost render`: renders a template file with a context file to standard output, or with `--jsonl` one
 * template for each line of standard input.
 * @param argv the arguments after `render`
 * @returns the exit code: 0, 1 if a template fails, 2 for an invalid command line or an unreadable file
 */
export async function runRender(argv: readonly string[], io: Streams): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    io.stderr.write(`rowpost render: ${error.message}\n`);
    return 2;
  }
}

async function run(argv: readonly string[], io: Streams): Promise<number> {
  const { values, positionals } = parseCommandLine(argv);
  if (values.jsonl && values.layouts !== undefined)
    throw new CommandError('--jsonl takes layouts from each line, as "layouts"');
  if (values.jsonl) {
    if (positionals.length > 0) throw new CommandError('--jsonl takes no files');
    await renderJsonLines(io.stdin, io.stdout);
    return 0;
  }
  const [templateFile, contextFile] = positionals;
  if (templateFile === undefined || positionals.length > 2)
    throw new CommandError('no template file given: see "rowpost render --help"');
  const syntax = syntaxOf(values.syntax);
  const source = await readInput(templateFile, io.stdin);
  const contextJson = contextFile === undefined ? '{}' : await readInput(contextFile, io.stdin);
  const layouts = values.layouts === undefined ? {} : await readLayouts(values.layouts);
  return renderFile(
    templateFile,
    source,
    contextJson,
    { syntax, autoescape: values.autoescape, layouts },
    io,
  );
}

function parseCommandLine(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        jsonl: { type: 'boolean', default: false },
        autoescape: { type: 'boolean', default: false },
        syntax: { type: 'string', default: 'jinja2' },
        layouts: { type: 'string' },
      },
    });
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

function syntaxOf(name: string): Syntax {
  if (name === 'jinja2' || name === 'liquid') return name;
  throw new CommandError(`unknown syntax '${name}': jinja2 or liquid`);
}

/** A file's text; `-` is standard input. */
async function readInput(path: string, stdin: NodeJS.ReadableStream): Promise<string> {
  try {
    return path === '-' ? await readText(stdin) : await readFile(path, 'utf8');
  } catch (error) {
    throw new CommandError(`can't read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The files of a folder as layouts, named by their file names. */
async function readLayouts(folder: string): Promise<LayoutSources> {
  try {
    const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
    const sources = files.map(
      async ({ name }) => [name, await readFile(path.join(folder, name), 'utf8')] as const,
    );
    return Object.fromEntries(await Promise.all(sources));
  } catch (error) {
    throw new CommandError(`can't read ${folder}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface RenderFileOptions {
  readonly syntax: Syntax;
  readonly autoescape: boolean;
  readonly layouts: LayoutSources;
}

function renderFile(
  file: string,
  source: string,
  contextJson: string,
  options: RenderFileOptions,
  io: Streams,
): number {
  try {
    const template = compileTemplate(source, {
      syntax: options.syntax,
      mode: options.autoescape ? 'html' : 'text',
      layouts: options.layouts,
    });
    io.stdout.write(template.renderJson(contextJson));
    return 0;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    io.stderr.write(describe(file, error));
    return 1;
  }
}

/** Formats an error like a compiler, with a caret under its position. */
function describe(file: string, { line, column, message, sourceLine, hint, layout }: TemplateError): string {
  const caret = `${' '.repeat(Math.max(0, column - 1))}^`;
  return [
    `${layout === undefined ? file : `layout ${layout}`}:${line}:${column}: ${message}`,
    `  ${sourceLine}`,
    `  ${caret}`,
    ...(hint === undefined ? [] : [`  hint: ${hint}`]),
    '',
  ].join('\n');
}
