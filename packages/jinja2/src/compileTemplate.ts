import { BoundedEmitter } from './emitter.js';
import { limitFault, positionAt, toTemplateError } from './errors.js';
import { toDict } from './contextValues.js';
import { compileJinja2 } from './jinja2/compileJinja2.js';
import { NO_LAYOUTS, type LayoutSources, type UsedLayouts } from './jinja2/compileLayouts.js';
import { DEFAULT_LIMITS, type TemplateLimits } from './limits.js';
import { compileLiquid } from './liquid/compileLiquid.js';
import { toRecord, type LiquidRecord } from './liquid/liquidRecord.js';
import { AddressEncoder, AddressListEncoder } from './literals/addressEncoder.js';
import { FilterEncoder } from './literals/filterEncoder.js';
import { GuardedEmitter } from './literals/guardedEmitter.js';
import { JsonEncoder } from './literals/jsonEncoder.js';
import { JsonContext } from './renderContext.js';
import type { Dict } from './values/dict.js';

export type Syntax = 'jinja2' | 'liquid';

/**
 * What the output is, which decides how values are written into it:
 *  - `text`: nothing is escaped;
 *  - `html`: autoescape is on, with Markup semantics;
 *  - `filter`: a filter expression, whose structure values can't change;
 *  - `json`: a JSON document, whose structure values can't change;
 *  - `address`, `addressList`: email addresses, or a JSON list of them; values are marked, see
 *    `unmarkValues`.
 */
export type OutputMode = 'text' | 'html' | 'filter' | 'json' | 'address' | 'addressList';

export interface CompileOptions {
  /** Default `jinja2`. */
  readonly syntax?: Syntax;
  /** Default `text`. */
  readonly mode?: OutputMode;
  readonly limits?: Partial<TemplateLimits>;
  /** The layouts that the template may extend, include and import, by name; only in Jinja2. */
  readonly layouts?: LayoutSources | undefined;
  /** The template is itself a layout, to be checked. */
  readonly isLayout?: boolean | undefined;
  /** A missing name or attribute is an error instead of rendering as nothing. */
  readonly strict?: boolean;
}

/** A context value that a template reads: a path of names, with `[]` for the items of a list. */
export interface TemplateRead {
  readonly path: readonly string[];
  readonly line: number;
  readonly column: number;
  /** The last name is written as an attribute, and a method of dicts hides it. */
  readonly isMethod: boolean;
}

/** A template ready to render, any number of times. */
export interface CompiledTemplate {
  readonly uses: UsedLayouts;
  /** The memory that it takes, about, or somewhat less. */
  readonly bytes: number;
  /** Reports errors that are certain to occur when rendering, such as a missing layout. @throws TemplateError */
  check(): void;
  /** Renders with a context of plain data, which is not modified. @throws TemplateError */
  render(context: Record<string, unknown>): string;
  /**
   * Renders with a context given as JSON text, without JavaScript's loss of precision: `10.0` stays a float and prints
   * `10.0`, and integers beyond 2^53 stay exact.
   * @throws TemplateError
   */
  renderJson(contextJson: string | JsonContext): string;
  /** What the template reads, as far as that can be determined statically; empty for Liquid. */
  reads(): readonly TemplateRead[];
}

/** Memory that a token of Jinja2 takes once compiled, and a character of Liquid that is not text; text takes what it has. */
const BYTES_OF_TOKEN = 350;
const BYTES_OF_COMPUTED = 220;

/** Compiles a template. @throws TemplateError of kind syntax or limit */
export function compileTemplate(source: string, options: CompileOptions = {}): CompiledTemplate {
  const { syntax = 'jinja2', mode = 'text', strict = false } = options;
  const limits: TemplateLimits = { ...DEFAULT_LIMITS, ...options.limits };
  return attempt(source, () => {
    if (source.length > limits.sourceLength) {
      throw limitFault(`the template is too long (limit ${limits.sourceLength} characters)`);
    }
    return syntax === 'jinja2'
      ? jinja2Template(source, mode, limits, options)
      : liquidTemplate(source, mode, limits, strict);
  });
}

function jinja2Template(
  text: string,
  mode: OutputMode,
  limits: TemplateLimits,
  { layouts = {}, isLayout, strict = false }: CompileOptions,
): CompiledTemplate {
  const options = { limits, escaping: mode === 'html', strict, layouts, isLayout };
  const template = compileJinja2(text, options);
  const { source, changesValues } = template;
  const renderValues = (context: () => Dict, owned: boolean) =>
    attempt(source, () => {
      const emitter = emitterFor(mode, limits);
      template.render(context(), owned, emitter);
      return emitter.buffer;
    });
  return {
    uses: template.uses,
    bytes: BYTES_OF_TOKEN * template.tokens,
    check: () => attempt(source, () => template.check()),
    reads: () =>
      template.reads().map(({ path, offset, isMethod }) => {
        const { line, column } = positionAt(source, offset);
        return { path, line, column, isMethod };
      }),
    render: (context) => renderValues(() => toDict(context), changesValues),
    renderJson: (contextJson) => {
      const json = JsonContext.of(contextJson);
      return renderValues(() => (changesValues ? json.ownValues() : json.values()), changesValues);
    },
  };
}

function liquidTemplate(
  source: string,
  mode: OutputMode,
  limits: TemplateLimits,
  strict: boolean,
): CompiledTemplate {
  const template = compileLiquid(source, limits, mode === 'html', strict);
  const render = (record: () => LiquidRecord) =>
    attempt(source, () => {
      const emitter = emitterFor(mode, limits);
      template.render(record(), emitter);
      return emitter.buffer;
    });
  return {
    uses: NO_LAYOUTS,
    bytes: BYTES_OF_COMPUTED * template.computed,
    check: () => undefined,
    reads: () => [],
    render: (context) => render(() => toRecord(context)),
    renderJson: (contextJson) => render(() => JsonContext.of(contextJson).liquidRecord()),
  };
}

function emitterFor(mode: OutputMode, limits: TemplateLimits): BoundedEmitter {
  switch (mode) {
    case 'filter':
      return new GuardedEmitter(limits.outputLength, new FilterEncoder());
    case 'json':
      return new GuardedEmitter(limits.outputLength, new JsonEncoder());
    case 'address':
      return new GuardedEmitter(limits.outputLength, new AddressEncoder());
    case 'addressList':
      return new GuardedEmitter(limits.outputLength, new AddressListEncoder());
    default:
      return new BoundedEmitter(limits.outputLength);
  }
}

/** Performs an action on a template, converting its faults to TemplateErrors. */
function attempt<T>(source: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toTemplateError(error, source);
  }
}
