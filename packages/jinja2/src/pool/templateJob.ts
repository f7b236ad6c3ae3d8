import type { OutputMode, Syntax, TemplateRead } from '../compileTemplate.js';
import type { TemplateErrorJson } from '../errors.js';
import type { LayoutSources, UsedLayouts } from '../jinja2/compileLayouts.js';

/** One template of a job. */
export interface TemplateRequest {
  /** Chosen by the caller, e.g. the field it comes from; returned in errors. */
  readonly name: string;
  readonly source: string;
  readonly syntax: Syntax;
  readonly mode: OutputMode;
  /** Also convert the output, which is HTML, to plain text. */
  readonly withPlainText?: boolean;
  /** Only for checks: it is a layout, whose blocks others fill. */
  readonly isLayout?: boolean;
  /** See `CompileOptions`. */
  readonly strict?: boolean;
}

/** Templates rendered with one context, which is sent to its process once, as text. */
export interface TemplateJob {
  readonly contextJson: string;
  /** Reuse the same list: jobs sent together then copy it once. */
  readonly templates: readonly TemplateRequest[];
  /** The layouts that the templates may extend, include and import; only the tenant's own. */
  readonly layouts?: LayoutSources | undefined;
  /** For fair scheduling across tenants. Undefined for a job without a tenant. */
  readonly tenantid?: number | undefined;
}

export interface NamedTemplateError extends TemplateErrorJson {
  readonly name: string;
}

export type RenderOutcome =
  | {
      readonly ok: true;
      readonly output: string;
      readonly plainText?: string;
      /** Result of a check. */
      readonly uses?: UsedLayouts;
      readonly reads?: readonly TemplateRead[];
    }
  | { readonly ok: false; readonly error: NamedTemplateError };

export type CheckOutcome =
  | { readonly ok: true; readonly uses: UsedLayouts; readonly reads: readonly TemplateRead[] }
  | { readonly ok: false; readonly error: NamedTemplateError };

/** Templates to compile. */
export interface CheckJob {
  readonly templates: readonly TemplateRequest[];
  readonly layouts?: LayoutSources | undefined;
  readonly tenantid?: number | undefined;
}

/** A job as sent to a process, in a list. */
export interface RenderTask {
  readonly templates: readonly TemplateRequest[];
  readonly layouts?: LayoutSources | undefined;
  /** Undefined to compile only. */
  readonly contextJson: string | undefined;
}

/** A bug is an error that is not the template's fault. */
export type TaskResult = { readonly outcomes: RenderOutcome[] } | { readonly bug: unknown };
