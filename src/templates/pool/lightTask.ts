import type { TemplateRequest, ThreadTask } from './templateJob.js';

const MOST_SOURCE = 200;
/** Of all templates of a task together. Each may write out the whole context. */
const MOST_NAMES = 4;
const MOST_CONTEXT = 4_000;

/** Text in which values are named, as in `order_id = {{ records.new.order_id }}`; nothing repeats or computes. */
const NAMES_ONLY = /^(?:[^{}]|\{\{ ?[a-z_]\w*(?:\.[a-z_]\w*)* ?\}\})*$/i;

/**
 * Whether a task is so little that the way to a thread and back costs more than doing it. Told from its form and its
 * size, which bound what any template and value can make of it.
 */
export function isLight({ templates, contextJson }: ThreadTask): boolean {
  if (contextJson === undefined || contextJson.length > MOST_CONTEXT) return false;
  return templates.every(isOfNames) && countNames(templates) <= MOST_NAMES;
}

function countNames(templates: readonly TemplateRequest[]): number {
  return templates.reduce((sum, { source }) => sum + source.split('{{').length - 1, 0);
}

function isOfNames({ source, syntax }: TemplateRequest): boolean {
  return syntax === 'jinja2' && source.length <= MOST_SOURCE && NAMES_ONLY.test(source);
}
