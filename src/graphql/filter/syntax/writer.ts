import type { ParsedFilter } from './parser.js';
import { RESERVED } from './reserved.js';
import type { FilterNode, ListItem, Literal } from './tree.js';

/** Writes an expression that parses to the same tree and literals. */
export function writeFilter({ tree, literals }: Pick<ParsedFilter, 'tree' | 'literals'>): string {
  return write(tree, literals);
}

function write(node: FilterNode, literals: readonly Literal[]): string {
  const operand = (each: FilterNode): string => enclosed(each, OPERANDS, literals);
  const condition = (each: FilterNode): string => enclosed(each, CONDITIONS, literals);
  switch (node.kind) {
    case 'everything':
      return '';
    case 'and':
    case 'or':
      return node.items.map(condition).join(` ${node.kind} `);
    case 'not':
      return `not ${condition(node.operand)}`;
    case 'compare':
    case 'arithmetic':
      return `${operand(node.left)} ${node.operator} ${operand(node.right)}`;
    case 'distinct':
      return `${operand(node.left)} is ${not(node)}distinct from ${operand(node.right)}`;
    case 'in':
      return `${operand(node.left)} ${not(node)}in ${operand(node.right)}`;
    case 'like':
      return `${operand(node.left)} ${not(node)}${node.caseless ? 'ilike' : 'like'} ${operand(node.pattern)}`;
    case 'between':
      return `${operand(node.value)} ${not(node)}between ${operand(node.low)} and ${operand(node.high)}`;
    case 'is':
      return `${operand(node.operand)} is ${not(node)}${node.test}`;
    case 'sign': {
      const written = operand(node.operand);
      // A minus before digits would be part of the number.
      return `${node.operator}${node.operand.kind === 'number' ? `(${written})` : written}`;
    }
    case 'call':
      return `${node.name}(${node.star ? '*' : node.args.map((each) => write(each, literals)).join(', ')})`;
    case 'path':
      return node.names.map((name, index) => writeName(name, index === 0)).join('.');
    case 'principal':
      return `$_PRINCIPAL.${node.field}`;
    case 'boolean':
      return String(node.value);
    case 'null':
      return 'null';
    case 'list':
      return `[${node.items.map((each) => write(each, literals)).join(', ')}]`;
    case 'number':
    case 'text':
    case 'literals':
      return writeLiteral(literals[node.index]);
  }
}

function enclosed(
  node: FilterNode,
  bare: ReadonlySet<FilterNode['kind']>,
  literals: readonly Literal[],
): string {
  const written = write(node, literals);
  return bare.has(node.kind) ? written : `(${written})`;
}

/** What stands beside an operator without parentheses. */
const OPERANDS: ReadonlySet<FilterNode['kind']> = new Set([
  'call',
  'path',
  'principal',
  'number',
  'text',
  'boolean',
  'null',
  'literals',
  'list',
]);
/** What stands beside `and`, `or` and `not` without parentheses. */
const CONDITIONS: ReadonlySet<FilterNode['kind']> = new Set([
  ...OPERANDS,
  'compare',
  'distinct',
  'in',
  'like',
  'between',
  'is',
]);

function not(node: { readonly negated: boolean }): string {
  return node.negated ? 'not ' : '';
}

function writeName(name: string, isFirst: boolean): string {
  const isPlain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !(isFirst && RESERVED.has(name.toLowerCase()));
  return isPlain ? name : `\`${name.replaceAll('`', '``')}\``;
}

function writeLiteral(literal: Literal | ListItem | undefined): string {
  switch (literal?.kind) {
    case undefined:
      throw new Error('a literal of the tree is missing');
    case 'number':
      return literal.text;
    case 'text':
      return `'${literal.text.replace(/[\\'\n\r\t]/g, (character) => ESCAPED.get(character) ?? '')}'`;
    case 'boolean':
      return String(literal.value);
    case 'null':
      return 'null';
    case 'list':
      return `[${literal.items.map(writeLiteral).join(', ')}]`;
  }
}

const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ["'", "''"],
  // Forms change line breaks.
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
