import { LRUCache } from 'lru-cache';
import { compileTemplate } from '../compileTemplate.js';
import type { CompiledTemplate } from '../compileTemplate.js';
import type { TemplateLimits } from '../limits.js';
import type { TemplateRequest } from './templateJob.js';

const MAX_TEMPLATES = 500;
/** Source characters; a compiled template takes about fifty times that in bytes. */
const MAX_CHARACTERS = 600_000;

/** Compiled templates by source, syntax and mode. */
export class CompiledCache {
  readonly #templates: LRUCache<string, CompiledTemplate>;

  constructor(
    private readonly limits: TemplateLimits,
    maxCharacters = MAX_CHARACTERS,
  ) {
    this.#templates = new LRUCache({
      max: MAX_TEMPLATES,
      maxSize: maxCharacters,
      sizeCalculation: (_template, key) => key.length,
    });
  }

  /** @throws TemplateError when the template doesn't compile; errors are not cached */
  get({ source, syntax, mode }: Omit<TemplateRequest, 'name'>): CompiledTemplate {
    const key = `${syntax}:${mode}:${source}`;
    const known = this.#templates.get(key);
    if (known) return known;
    const template = compileTemplate(source, { syntax, mode, limits: this.limits });
    this.#templates.set(key, template);
    return template;
  }
}
