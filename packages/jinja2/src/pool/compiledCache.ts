import { LRUCache } from 'lru-cache';
import { compileTemplate, type CompiledTemplate } from '../compileTemplate.js';
import type { TemplateLimits } from '../limits.js';
import type { LayoutSources } from '../jinja2/compileLayouts.js';
import type { TemplateRequest } from './templateJob.js';

const MAX_TEMPLATES = 500;
/** A quarter of the heap of a render process, in which the data of other tenants must have room. */
const MAX_BYTES = 32_000_000;
/** Of a character of the source, which is kept twice. */
const BYTES_OF_CHARACTER = 4;

/** A tag that loads layouts. Also matches within `raw` and comments, which only costs a separate entry. */
const LOADS = /\{%[-+]?\s*(?:extends|include|import|from)\b/;

/** Whether a template has a tag that loads layouts, or something that looks like one. */
export function mayLoadLayouts(source: string): boolean {
  return LOADS.test(source);
}

/** Compiled templates by source, syntax, mode and the layouts that they may load. */
export class CompiledCache {
  readonly #templates: LRUCache<string, CompiledTemplate>;

  constructor(private readonly limits: TemplateLimits) {
    this.#templates = new LRUCache({
      max: MAX_TEMPLATES,
      maxSize: MAX_BYTES,
      sizeCalculation: ({ bytes }, key) => bytes + BYTES_OF_CHARACTER * key.length,
    });
  }

  /** @throws TemplateError if the template doesn't compile; errors are not cached */
  get(
    { source, syntax, mode, isLayout, strict = false }: Omit<TemplateRequest, 'name'>,
    given: LayoutSources = {},
  ): CompiledTemplate {
    // Only pass what is part of the key.
    const layouts = mayLoadLayouts(source) ? given : {};
    const key = `${syntax}:${mode}:${isLayout ?? false}:${strict}:${keyOf(layouts)}:${source}`;
    const known = this.#templates.get(key);
    if (known) return known;
    const template = compileTemplate(source, {
      syntax,
      mode,
      layouts,
      isLayout,
      strict,
      limits: this.limits,
    });
    this.#templates.set(key, template);
    return template;
  }
}

const keys = new WeakMap<LayoutSources, string>();

/** Cached by object: jobs that are sent together, and those of one type, share the object. */
function keyOf(layouts: LayoutSources): string {
  const known = keys.get(layouts);
  if (known !== undefined) return known;
  const key = JSON.stringify(layouts);
  keys.set(layouts, key);
  return key;
}
