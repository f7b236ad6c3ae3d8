export { compileTemplate } from './compileTemplate.js';
export type { OutputMode, Syntax, TemplateRead } from './compileTemplate.js';
export type { LayoutSources } from './jinja2/compileLayouts.js';
export { TemplateError } from './errors.js';
export { CompiledCache, mayLoadLayouts } from './pool/compiledCache.js';
export {
  CONTEXT_TOO_LARGE,
  isTooLarge as isContextTooLarge,
  JsonContext,
  MAX_CONTEXT_CHARACTERS,
} from './renderContext.js';
export { DEFAULT_LIMITS } from './limits.js';
export type { TemplateLimits } from './limits.js';
export { createTemplatePool } from './pool/templatePool.js';
export type { RenderOutcome, TemplateJob, TemplatePool, TemplateRequest } from './pool/templatePool.js';
export { hideSigns, isOnlyValues, unmarkValues } from './literals/addressEncoder.js';
export { readLocale } from './format/intlFormats.js';
export { BUILTIN_NAMES } from './builtinNames.js';
