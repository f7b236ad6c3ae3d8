import type { Position } from './errors.js';

/**
 * The syntax tree of a filter expression. It holds only the structure: literal values are lifted out, and a node has their
 * kind and their index in `ParsedFilter.literals`. Texts with equal trees compile to equal SQL.
 */
export type FilterNode =
  | Everything
  | LogicalNode
  | NotNode
  | CompareNode
  | DistinctNode
  | InNode
  | LikeNode
  | BetweenNode
  | IsNode
  | ArithmeticNode
  | SignNode
  | CallNode
  | PathNode
  | PrincipalNode
  | NumberNode
  | TextNode
  | BooleanNode
  | NullNode
  | LiteralListNode
  | ListNode;

/** The blank expression, which every row passes. */
interface Everything {
  readonly kind: 'everything';
  readonly at: Position;
}

/** `a AND b AND c` is one node with three items. */
export interface LogicalNode {
  readonly kind: 'and' | 'or';
  readonly at: Position;
  readonly items: readonly FilterNode[];
}

interface NotNode {
  readonly kind: 'not';
  readonly at: Position;
  readonly operand: FilterNode;
}

export type CompareOperator = '=' | '!=' | '<' | '>' | '<=' | '>=';

export interface CompareNode {
  readonly kind: 'compare';
  readonly at: Position;
  readonly operator: CompareOperator;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

/** `left IS [NOT] DISTINCT FROM right`; `negated` is with NOT. */
export interface DistinctNode {
  readonly kind: 'distinct';
  readonly at: Position;
  readonly negated: boolean;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

export interface InNode {
  readonly kind: 'in';
  readonly at: Position;
  readonly negated: boolean;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

export interface LikeNode {
  readonly kind: 'like';
  readonly at: Position;
  readonly negated: boolean;
  readonly caseless: boolean;
  readonly left: FilterNode;
  readonly pattern: FilterNode;
}

export interface BetweenNode {
  readonly kind: 'between';
  readonly at: Position;
  readonly negated: boolean;
  readonly value: FilterNode;
  readonly low: FilterNode;
  readonly high: FilterNode;
}

export interface IsNode {
  readonly kind: 'is';
  readonly at: Position;
  readonly negated: boolean;
  readonly test: 'null' | 'true' | 'false';
  readonly operand: FilterNode;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^' | '&' | '|' | '#' | '<<' | '>>';

export interface ArithmeticNode {
  readonly kind: 'arithmetic';
  readonly at: Position;
  readonly operator: ArithmeticOperator;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

/** `-x` or `~x`. */
export interface SignNode {
  readonly kind: 'sign';
  readonly at: Position;
  readonly operator: '-' | '~';
  readonly operand: FilterNode;
}

/** A function or an aggregate; `count(*)` has no arguments and `star`. The name is in lower case. */
export interface CallNode {
  readonly kind: 'call';
  readonly at: Position;
  readonly name: string;
  readonly star: boolean;
  readonly args: readonly FilterNode[];
}

/** `column` or `relation.relation.column`. */
export interface PathNode {
  readonly kind: 'path';
  readonly at: Position;
  readonly names: readonly string[];
}

/** `$_PRINCIPAL.field` */
export interface PrincipalNode {
  readonly kind: 'principal';
  readonly at: Position;
  readonly field: string;
}

/** The smallest PostgreSQL type that holds a number as written. */
export type NumberSize = 'int4' | 'int8' | 'numeric';

/** The part of a literal that belongs to the shape. */
export type LiteralClass = NumberSize | 'text' | 'boolean';

export interface NumberNode {
  readonly kind: 'number';
  readonly at: Position;
  readonly index: number;
  readonly size: NumberSize;
}

export interface TextNode {
  readonly kind: 'text';
  readonly at: Position;
  readonly index: number;
}

/** Written into the SQL verbatim, so that PostgreSQL can use partial indexes. */
export interface BooleanNode {
  readonly kind: 'boolean';
  readonly at: Position;
  readonly value: boolean;
}

export interface NullNode {
  readonly kind: 'null';
  readonly at: Position;
}

/** A list of literals: one parameter, whatever its length. */
export interface LiteralListNode {
  readonly kind: 'literals';
  readonly at: Position;
  readonly index: number;
  /** The distinct classes of its items, sorted. Empty for `[]` and `[null]`. */
  readonly classes: readonly LiteralClass[];
  readonly hasNull: boolean;
}

/** A list with items other than literals. */
export interface ListNode {
  readonly kind: 'list';
  readonly at: Position;
  readonly items: readonly FilterNode[];
}

/** A literal's value, lifted out of the tree. A number's `text` keeps its sign and every digit. */
export type Literal = NumberLiteral | TextLiteral | ListLiteral;

interface NumberLiteral {
  readonly kind: 'number';
  readonly at: Position;
  readonly text: string;
}

interface TextLiteral {
  readonly kind: 'text';
  readonly at: Position;
  readonly text: string;
}

interface ListLiteral {
  readonly kind: 'list';
  readonly at: Position;
  readonly items: readonly ListItem[];
}

export type ListItem =
  | NumberLiteral
  | TextLiteral
  | { readonly kind: 'boolean'; readonly at: Position; readonly value: boolean }
  | { readonly kind: 'null'; readonly at: Position };
