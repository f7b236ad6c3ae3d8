import type { ThreadTask } from './templateJob.js';

const MOST_TEMPLATES = 4;
const MOST_SOURCE = 200;
const MOST_CONTEXT = 8_000;

/** Text in which values are named, as in `order_id = {{ records.new.order_id }}`; nothing repeats or computes. */
const NAMES_ONLY = /^(?:[^{}]|\{\{ ?[a-z_]\w*(?:\.[a-z_]\w*)* ?\}\})*$/i;

/**
 * Whether a task is so little that the way to a thread and back costs more than doing it: by its form, so that no
 * template or value can make it long.
 */
export function isLight({ templates, contextJson }: ThreadTask): boolean {
  return (
    contextJson !== undefined &&
    contextJson.length <= MOST_CONTEXT &&
    templates.length <= MOST_TEMPLATES &&
    templates.every(({ source }) => source.length <= MOST_SOURCE && NAMES_ONLY.test(source))
  );
}
