import { once } from 'node:events';
import {
  CompiledCache,
  DEFAULT_LIMITS,
  JsonContext,
  TemplateError,
  type LayoutSources,
  type Syntax,
} from 'rowpost-jinja2';
import { isJsonObject } from '../foundation/json/losslessJson.js';
import { linesOf } from '../foundation/linesOf.js';

/** An input line, unchecked. */
interface LineRequest {
  readonly template?: unknown;
  readonly autoescape?: unknown;
  readonly syntax?: unknown;
  readonly layouts?: unknown;
}

/**
 * Renders one `{"template", "context", "autoescape", "syntax"?, "layouts"?}` per input line into one `{"output"}` or
 * `{"error": {message, line, column, hint}}` per output line, in order. An invalid line results in an error line; the rest
 * are processed.
 */
export async function renderJsonLines(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<void> {
  const cache = new CompiledCache(DEFAULT_LIMITS);
  input.setEncoding('utf8');
  for await (const line of linesOf(input as AsyncIterable<string>)) {
    if (!output.write(`${JSON.stringify(renderLine(line, cache))}\n`)) await once(output, 'drain');
  }
}

function renderLine(line: string, cache: CompiledCache): object {
  try {
    const { template, syntax, autoescape, layouts } = readRequest(line);
    const compiled = cache.get({ source: template, syntax, mode: autoescape ? 'html' : 'text' }, layouts);
    return { output: compiled.renderJson(new JsonContext(line, 'context')) };
  } catch (error) {
    if (error instanceof TemplateError) {
      const { message, line: at, column, hint = null, layout } = error;
      return { error: { message, line: at, column, hint, ...(layout === undefined ? {} : { layout }) } };
    }
    if (error instanceof BadLine)
      return { error: { message: error.message, line: 0, column: 0, hint: null } };
    throw error;
  }
}

/** A line that is not a valid request. */
class BadLine extends Error {}

interface LineTemplate {
  readonly template: string;
  readonly syntax: Syntax;
  readonly autoescape: boolean;
  readonly layouts: LayoutSources;
}

function readRequest(line: string): LineTemplate {
  const { template, syntax = 'jinja2', autoescape = false, layouts } = parseLine(line);
  if (typeof template !== 'string') throw new BadLine('"template" must be a string');
  if (syntax !== 'jinja2' && syntax !== 'liquid' && syntax !== null)
    throw new BadLine('"syntax" must be "jinja2" or "liquid"');
  if (!areLayouts(layouts ?? {})) throw new BadLine('"layouts" must be an object of templates by name');
  return {
    template,
    syntax: syntax ?? 'jinja2',
    autoescape: autoescape === true,
    layouts: (layouts ?? {}) as LayoutSources,
  };
}

function areLayouts(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every((source) => typeof source === 'string');
}

function parseLine(line: string): LineRequest {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (error) {
    throw new BadLine(`the line is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isJsonObject(request)) throw new BadLine('the line is no JSON object');
  return request;
}
