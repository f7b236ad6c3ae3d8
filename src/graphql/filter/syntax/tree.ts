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

/** What has a place in the text. */
interface Positioned {
  readonly at: Position;
}

/** The blank expression, which every row passes. */
interface Everything extends Positioned {
  readonly kind: 'everything';
}

/** `a AND b AND c` is one node with three items. */
export interface LogicalNode extends Positioned {
  readonly kind: 'and' | 'or';
  readonly items: readonly FilterNode[];
}

interface NotNode extends Positioned {
  readonly kind: 'not';
  readonly operand: FilterNode;
}

export type CompareOperator = '=' | '!=' | '<' | '>' | '<=' | '>=';

export interface CompareNode extends Positioned {
  readonly kind: 'compare';
  readonly operator: CompareOperator;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

/** `left IS [NOT] DISTINCT FROM right`; `negated` is with NOT. */
export interface DistinctNode extends Positioned {
  readonly kind: 'distinct';
  readonly negated: boolean;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

export interface InNode extends Positioned {
  readonly kind: 'in';
  readonly negated: boolean;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

export interface LikeNode extends Positioned {
  readonly kind: 'like';
  readonly negated: boolean;
  readonly caseless: boolean;
  readonly left: FilterNode;
  readonly pattern: FilterNode;
}

export interface BetweenNode extends Positioned {
  readonly kind: 'between';
  readonly negated: boolean;
  readonly value: FilterNode;
  readonly low: FilterNode;
  readonly high: FilterNode;
}

export interface IsNode extends Positioned {
  readonly kind: 'is';
  readonly negated: boolean;
  readonly test: 'null' | 'true' | 'false';
  readonly operand: FilterNode;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^' | '&' | '|' | '#' | '<<' | '>>';

export interface ArithmeticNode extends Positioned {
  readonly kind: 'arithmetic';
  readonly operator: ArithmeticOperator;
  readonly left: FilterNode;
  readonly right: FilterNode;
}

/** `-x` or `~x`. */
export interface SignNode extends Positioned {
  readonly kind: 'sign';
  readonly operator: '-' | '~';
  readonly operand: FilterNode;
}

/** A function or an aggregate; `count(*)` has no arguments and `star`. The name is in lower case. */
export interface CallNode extends Positioned {
  readonly kind: 'call';
  readonly name: string;
  readonly star: boolean;
  readonly args: readonly FilterNode[];
}

/** `column` or `relation.relation.column`. */
export interface PathNode extends Positioned {
  readonly kind: 'path';
  readonly names: readonly string[];
}

/** `$_PRINCIPAL.field` */
export interface PrincipalNode extends Positioned {
  readonly kind: 'principal';
  readonly field: string;
}

/** The smallest PostgreSQL type that holds a number as written. */
export type NumberSize = 'int4' | 'int8' | 'numeric';

/** The part of a literal that belongs to the shape. */
export type LiteralClass = NumberSize | 'text' | 'boolean';

export interface NumberNode extends Positioned {
  readonly kind: 'number';
  readonly index: number;
  readonly size: NumberSize;
}

export interface TextNode extends Positioned {
  readonly kind: 'text';
  readonly index: number;
  /** It has at most 32 · 10ⁿ characters: how long a search for it takes belongs to the shape. */
  readonly size: number;
}

/** Written into the SQL verbatim, so that PostgreSQL can use partial indexes. */
export interface BooleanNode extends Positioned {
  readonly kind: 'boolean';
  readonly value: boolean;
}

export interface NullNode extends Positioned {
  readonly kind: 'null';
}

/** A list of literals: one parameter, whatever its length. */
export interface LiteralListNode extends Positioned {
  readonly kind: 'literals';
  readonly index: number;
  /** The distinct classes of its items, sorted. Empty for `[]` and `[null]`. */
  readonly classes: readonly LiteralClass[];
  readonly hasNull: boolean;
}

/** A list with items other than literals. */
export interface ListNode extends Positioned {
  readonly kind: 'list';
  readonly items: readonly FilterNode[];
}

/** A literal's value, lifted out of the tree. A number's `text` keeps its sign and every digit. */
export type Literal = NumberLiteral | TextLiteral | ListLiteral;

interface NumberLiteral extends Positioned {
  readonly kind: 'number';
  readonly text: string;
}

interface TextLiteral extends Positioned {
  readonly kind: 'text';
  readonly text: string;
}

interface ListLiteral extends Positioned {
  readonly kind: 'list';
  readonly items: readonly ListItem[];
}

export type ListItem =
  | NumberLiteral
  | TextLiteral
  | { readonly kind: 'boolean'; readonly at: Position; readonly value: boolean }
  | { readonly kind: 'null'; readonly at: Position };
