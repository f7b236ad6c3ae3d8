import { Kind, TokenKind, type DocumentNode, type SelectionSetNode } from 'graphql';
import type { Config } from '../../config/config.js';
import { AppError } from '../../foundation/errors.js';
import type { PlanOwner } from '../plan/planOwner.js';
import { fragmentsOf } from './rootFields.js';

export interface DocumentLimits {
  readonly tokens: number;
  readonly depth: number;
  /** Fields with every fragment expanded. */
  readonly fields: number;
}

export const ROLE_LIMITS: DocumentLimits = { tokens: 20_000, fields: 2_000, depth: 12 };
/** Tighter, since the number of anonymous clients is unbounded. */
const ANONYMOUS_LIMITS: DocumentLimits = { tokens: 4_000, fields: 400, depth: 12 };

/** Limits for documents received over HTTP. */
export function documentLimits(
  { introspection }: Pick<Config, 'introspection'>,
  { isAnonymous }: PlanOwner,
): DocumentLimits & { readonly introspection: boolean } {
  return { ...(isAnonymous ? ANONYMOUS_LIMITS : ROLE_LIMITS), introspection };
}

/** Nesting of brackets, checked before parsing: the parser's own recursion is safe below it. */
const MAX_BRACKETS = 200;
/** Computing an error's position scans the document from its first line. */
const MAX_LINES = 20_000;
/** Validation compares all pairs of fragments. */
const MAX_FRAGMENTS = 250;
/** Validation takes quadratic time in the repetitions of a response key. */
const MAX_REPEATS = 50;

/** Responses repeat names: an alias in the path of each error below it, for instance. PostgreSQL's have at most 63 bytes. */
const MAX_NAME_CHARACTERS = 1_000;

const tooComplex = (what: string): AppError => new AppError('DOCUMENT_TOO_COMPLEX', `The document ${what}.`);

/** Rejects a text that would overflow the parser's stack. Linear time, no allocation. Throws AppError. */
export function checkNesting(text: string): void {
  let depth = 0;
  let lines = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 0x0a || char === 0x0d) {
      if (++lines > MAX_LINES) throw tooComplex(`has more than ${MAX_LINES} lines`);
    } else if (char === 0x7b || char === 0x5b || char === 0x28) {
      if (++depth > MAX_BRACKETS) throw tooComplex('is nested too deep');
    } else if (char === 0x7d || char === 0x5d || char === 0x29) {
      depth--;
    } else if (char === 0x22) {
      i = endOfString(text, i);
    }
  }
}

/** Throws AppError. */
function checkNames({ loc }: DocumentNode): void {
  for (let token = loc?.startToken ?? null; token; token = token.next) {
    if (token.kind === TokenKind.NAME && token.value.length > MAX_NAME_CHARACTERS)
      throw tooComplex(`has a name of more than ${MAX_NAME_CHARACTERS} characters`);
  }
}

function endOfString(text: string, start: number): number {
  if (text.startsWith('"""', start)) {
    const end = text.indexOf('"""', start + 3);
    return end < 0 ? text.length : end + 2;
  }
  for (let i = start + 1; i < text.length; i++) {
    const char = text[i];
    if (char === '\\') i++;
    else if (char === '"' || char === '\n') return i;
  }
  return text.length;
}

interface Cost {
  readonly fields: number;
  readonly depth: number;
}

/**
 * Counts fields and depth after fragment expansion, visiting each fragment once: exponential fragments are counted,
 * not expanded. Introspection has its own depth rule. Throws AppError.
 */
export function checkComplexity(document: DocumentNode, limits: DocumentLimits): void {
  checkNames(document);
  const fragments = fragmentsOf(document);
  if (fragments.size > MAX_FRAGMENTS) throw tooComplex(`has more than ${MAX_FRAGMENTS} fragments`);
  const known = new Map<string, Cost | 'open'>();

  const costOf = (set: SelectionSetNode): Cost => {
    let fields = 0;
    let depth = 0;
    const repeats = new Map<string, number>();
    for (const selection of set.selections) {
      let cost: Cost;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const count = (repeats.get(key) ?? 0) + 1;
        repeats.set(key, count);
        if (count > MAX_REPEATS)
          throw tooComplex(`selects ${key} more than ${MAX_REPEATS} times in one place`);
        const inner = selection.selectionSet ? costOf(selection.selectionSet) : { fields: 0, depth: 0 };
        const isIntrospection = selection.name.value.startsWith('__');
        cost = { fields: inner.fields + 1, depth: isIntrospection ? 1 : inner.depth + 1 };
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        cost = costOf(selection.selectionSet);
      } else {
        cost = costOfFragment(selection.name.value);
      }
      fields += cost.fields;
      depth = Math.max(depth, cost.depth);
      if (fields > limits.fields) throw tooComplex(`selects more than ${limits.fields} fields`);
    }
    return { fields, depth };
  };

  const costOfFragment = (name: string): Cost => {
    const found = known.get(name);
    // Validation reports unknown fragments and cycles.
    if (found === 'open') return { fields: 0, depth: 0 };
    if (found) return found;
    const fragment = fragments.get(name);
    if (!fragment) return { fields: 0, depth: 0 };
    known.set(name, 'open');
    const cost = costOf(fragment.selectionSet);
    known.set(name, cost);
    return cost;
  };

  let fields = 0;
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const cost = costOf(node.selectionSet);
    fields += cost.fields;
    if (cost.depth > limits.depth) throw tooComplex(`is deeper than ${limits.depth} levels`);
    if (fields > limits.fields) throw tooComplex(`selects more than ${limits.fields} fields`);
  }
}
