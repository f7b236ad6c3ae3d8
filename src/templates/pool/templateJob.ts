import type { OutputMode, Syntax } from '../compileTemplate.js';
import type { TemplateErrorJson } from '../errors.js';
import type { TemplateLimits } from '../limits.js';

/** One template of a job. */
export interface TemplateRequest {
  /** What the caller calls it, such as the field it comes from; it comes back in the error. */
  readonly name: string;
  readonly source: string;
  readonly syntax: Syntax;
  readonly mode: OutputMode;
}

/** Templates that render with one context, which crosses to the thread once, as text. */
export interface TemplateJob {
  readonly contextJson: string;
  /** The same list again and again costs less: it crosses once for all jobs that cross together. */
  readonly templates: readonly TemplateRequest[];
  /** Whose job it is: tenants share the threads. Undefined for nobody's in particular. */
  readonly tenantid?: number | undefined;
}

export interface NamedTemplateError extends TemplateErrorJson {
  readonly name: string;
}

export type RenderOutcome =
  { readonly ok: true; readonly output: string } | { readonly ok: false; readonly error: NamedTemplateError };

export type CheckOutcome = { readonly ok: true } | { readonly ok: false; readonly error: NamedTemplateError };

/** A job as it is posted to a thread. Jobs cross in groups: a list of these. */
export interface ThreadTask {
  readonly templates: readonly TemplateRequest[];
  /** Undefined to compile only. */
  readonly contextJson: string | undefined;
}

/** What became of a task. A bug is an error that no template can be blamed for. */
export type TaskResult = { readonly outcomes: RenderOutcome[] } | { readonly bug: unknown };

/** What a thread posts: results of its group in their order, from where it left off. First of all an empty one: it has started. */
export interface ThreadAnswer {
  readonly results: readonly TaskResult[];
  /** The thread takes another group. */
  readonly isFree: boolean;
}

/** What a thread is started with. */
export interface ThreadSettings {
  readonly limits: TemplateLimits;
  /** See `ThreadProgress`. */
  readonly progress: SharedArrayBuffer;
}
