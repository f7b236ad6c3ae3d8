import { endOfString } from 'rowpost-jinja2/jsonReader';

/** A member of a JSON object's text, and where its value is. */
export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The members of an object, in order, without reading their values: a row may have 8 MiB, whose millions of numbers would take
 * seconds. Empty for any other value. The text must be valid JSON.
 */
export function membersOf(json: string): readonly JsonMember[] {
  const members: JsonMember[] = [];
  let depth = 0;
  let name = '';
  let start: number | undefined;
  const end = (at: number): void => {
    if (start !== undefined) members.push({ name: JSON.parse(name) as string, start, end: at });
    start = undefined;
  };
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const after = endOfString(json, at);
        if (depth === 1 && start === undefined) name = json.slice(at, after);
        at = after - 1;
        break;
      }
      case COLON:
        if (depth === 1) start = at + 1;
        break;
      case COMMA:
        if (depth === 1) end(at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth++;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        if (depth === 1) end(at);
        depth--;
    }
  }
  return members;
}

/** The objects that are a value or in its lists, but not those within others. The text must be valid JSON. */
export function objectsOf(json: string): readonly Omit<JsonMember, 'name'>[] {
  const objects: Omit<JsonMember, 'name'>[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (code === OPEN_OBJECT && depth++ === 0) start = at;
    else if (code === CLOSE_OBJECT && --depth === 0) objects.push({ start, end: at + 1 });
  }
  return objects;
}

/** Changes the text between strings. */
export function changeOutsideStrings(json: string, change: (text: string) => string): string {
  let changed = '';
  let from = 0;
  for (let quote = json.indexOf('"'); quote >= 0; quote = json.indexOf('"', from)) {
    const after = endOfString(json, quote);
    changed += change(json.slice(from, quote)) + json.slice(quote, after);
    from = after;
  }
  return changed + change(json.slice(from));
}

/** Whether the text has more commas than this between its strings, and so more values. */
export function exceedsValueCount(json: string, most: number): boolean {
  let commas = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (code === COMMA && ++commas > most) return true;
  }
  return false;
}
