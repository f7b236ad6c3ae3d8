import { parseJsonObject } from '../../foundation/json/losslessJson.js';

/** Parses a key as people type it: `7`, or `{"order_id": 7, "line": 1}`. */
export function readKeyText(text: string): unknown {
  return (text.trimStart().startsWith('{') ? parseJsonObject(text) : undefined) ?? text;
}
