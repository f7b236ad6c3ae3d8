import { compileTemplate } from '../compileTemplate.js';
import type { CompiledTemplate } from '../compileTemplate.js';
import type { TemplateLimits } from '../limits.js';
import type { TemplateRequest } from './templateJob.js';

const MAX_TEMPLATES = 500;
/** Source characters; a compiled template takes about fifty times that in bytes. */
const MAX_CHARACTERS = 600_000;

/** LRU cache of compiled templates by source, syntax and mode. */
export class CompiledCache {
  private readonly templates = new Map<string, CompiledTemplate>();
  private characters = 0;

  constructor(
    private readonly limits: TemplateLimits,
    private readonly maxCharacters = MAX_CHARACTERS,
  ) {}

  /** @throws TemplateError when the template doesn't compile; errors are not cached */
  get({ source, syntax, mode }: Omit<TemplateRequest, 'name'>): CompiledTemplate {
    const key = `${syntax}:${mode}:${source}`;
    const known = this.templates.get(key);
    const template = known ?? compileTemplate(source, { syntax, mode, limits: this.limits });
    if (known === undefined) this.characters += key.length;
    else this.templates.delete(key);
    this.templates.set(key, template);
    this.evict();
    return template;
  }

  private evict(): void {
    for (const key of this.templates.keys()) {
      if (this.templates.size <= MAX_TEMPLATES && this.characters <= this.maxCharacters) return;
      this.templates.delete(key);
      this.characters -= key.length;
    }
  }
}
