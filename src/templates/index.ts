export { compileTemplate } from './compileTemplate.js';
export type { OutputMode, Syntax } from './compileTemplate.js';
export { TemplateError } from './errors.js';
export { DEFAULT_LIMITS } from './limits.js';
export type { TemplateLimits } from './limits.js';
export { createTemplatePool } from './pool/templatePool.js';
export type { RenderOutcome, TemplateJob, TemplatePool, TemplateRequest } from './pool/templatePool.js';
export { unmarkSigns } from './literals/addressEncoder.js';
