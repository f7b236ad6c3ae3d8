import { isJsonObject, parseJson } from '../../losslessJson.js';

/** Parses a key as people type it: `7`, or `{"order_id": 7, "line": 1}`. */
export function readKeyText(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return text;
}
