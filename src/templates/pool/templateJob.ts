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
  readonly templates: readonly TemplateRequest[];
}

export interface NamedTemplateError extends TemplateErrorJson {
  readonly name: string;
}

export type RenderOutcome =
  { readonly ok: true; readonly output: string } | { readonly ok: false; readonly error: NamedTemplateError };

export type CheckOutcome = { readonly ok: true } | { readonly ok: false; readonly error: NamedTemplateError };

/** What is posted to a thread. */
export interface ThreadTask {
  readonly templates: readonly TemplateRequest[];
  /** Undefined to compile only. */
  readonly contextJson: string | undefined;
  /** Where the thread notes when it began (milliseconds since 1970), since waiting for a thread doesn't count. */
  readonly startedAt: SharedArrayBuffer;
}

/** What a thread is started with. */
export interface ThreadSettings {
  readonly limits: TemplateLimits;
}
