export { compileTemplate } from './compileTemplate.js';
export type { CompiledTemplate, CompileOptions, OutputMode, Syntax } from './compileTemplate.js';
export { TemplateError } from './errors.js';
export type { TemplateErrorJson, TemplateErrorKind } from './errors.js';
export { DEFAULT_LIMITS } from './limits.js';
export type { TemplateLimits } from './limits.js';
export { createTemplatePool } from './pool/templatePool.js';
export type {
  RenderOutcome,
  TemplateJob,
  TemplatePool,
  TemplatePoolOptions,
  TemplateRequest,
} from './pool/templatePool.js';
export { unmarkSigns } from './literals/addressEncoder.js';
