import { ownValue } from '../foundation/ownValue.js';
import { toPostgresText } from '../foundation/postgresText.js';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** `mso-hide` is for Outlook. */
const STYLE = 'display:none;max-height:0;overflow:hidden;mso-hide:all';

/** Inboxes show a hundred or two. Escaping two million, as many as a template may render to, takes a fifth of a second. */
const MAX_CHARACTERS = 10_000;

/** Adds the text that inboxes show next to the subject, hidden at the start of the body. */
export function withPreheader(html: string, preheader: string): string {
  const text = toPostgresText(preheader.slice(0, MAX_CHARACTERS)).replace(/\s+/g, ' ').trim();
  if (text === '') return html;
  const escaped = text.replace(/[&<>]/g, (character) => ownValue(ESCAPES, character) ?? character);
  const start = startOfBody(html);
  return `${html.slice(0, start)}<div style="${STYLE}">${escaped}</div>${html.slice(start)}`;
}

/** If the body begins later, the preheader goes before the head, which is harmless. */
const MAX_HEAD_CHARACTERS = 100_000;
const HEAD_ENDS = /^<(?:!doctype|html|\/head|body)(?=[\s/>])/i;

/** After the `body` tag or, without one, after everything that must precede it. Ignores comments and quoted characters. */
function startOfBody(html: string): number {
  const head = html.slice(0, MAX_HEAD_CHARACTERS);
  let start = 0;
  for (let at = head.indexOf('<'); at >= 0; at = head.indexOf('<', at + 1)) {
    if (head.startsWith('<!--', at)) {
      at = head.indexOf('-->', at);
      if (at < 0) break;
      continue;
    }
    const tag = HEAD_ENDS.exec(head.slice(at, at + 10))?.[0].toLowerCase();
    if (tag === undefined) continue;
    const end = endOfTag(head, at);
    if (end === undefined) break;
    start = end;
    if (tag === '<body') break;
    at = end - 1;
  }
  return start;
}

function endOfTag(html: string, from: number): number | undefined {
  let quote = '';
  for (let at = from; at < html.length; at++) {
    const character = html.charAt(at);
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at + 1;
  }
  return undefined;
}
