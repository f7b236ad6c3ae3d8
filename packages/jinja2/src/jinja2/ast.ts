import type { BinaryOperator } from '../values/operators.js';
import type { Ordering } from '../values/compare.js';
import type { Value } from '../values/value.js';

/** Every node knows where it begins in the source. */
interface Node {
  readonly offset: number;
}

export interface Constant extends Node {
  readonly kind: 'constant';
  readonly value: Value;
}

export interface Name extends Node {
  readonly kind: 'name';
  readonly name: string;
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}

export interface TupleLiteral extends Node {
  readonly kind: 'tuple';
  readonly items: readonly Expression[];
}

export interface DictLiteral extends Node {
  readonly kind: 'dict';
  readonly entries: readonly (readonly [key: Expression, value: Expression])[];
}

export interface Unary extends Node {
  readonly kind: 'unary';
  readonly operator: 'not' | '-' | '+';
  readonly operand: Expression;
}

export interface Binary extends Node {
  readonly kind: 'binary';
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export interface Logical extends Node {
  readonly kind: 'logical';
  readonly operator: 'and' | 'or';
  readonly left: Expression;
  readonly right: Expression;
}

/** `a ~ b ~ c` */
export interface Concat extends Node {
  readonly kind: 'concat';
  readonly parts: readonly Expression[];
}

export type CompareOperator = '==' | '!=' | Ordering | 'in' | 'not in';

/** `a < b < c`: each pair must hold. */
export interface Compare extends Node {
  readonly kind: 'compare';
  readonly first: Expression;
  readonly rest: readonly { readonly operator: CompareOperator; readonly operand: Expression }[];
}

export interface Attribute extends Node {
  readonly kind: 'attribute';
  readonly target: Expression;
  readonly name: string;
}

export interface Item extends Node {
  readonly kind: 'item';
  readonly target: Expression;
  readonly key: Expression;
}

export interface Slice extends Node {
  readonly kind: 'slice';
  readonly target: Expression;
  readonly start: Expression | undefined;
  readonly stop: Expression | undefined;
  readonly step: Expression | undefined;
}

export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly { readonly name: string; readonly value: Expression }[];
  /** `*args` */
  readonly spread: Expression | undefined;
  /** `**kwargs` */
  readonly namedSpread: Expression | undefined;
}

export interface Call extends Node, Arguments {
  readonly kind: 'call';
  readonly callee: Expression;
}

export interface FilterCall extends Node, Arguments {
  readonly kind: 'filter';
  readonly name: string;
  /** Undefined in `{% filter %}` and `{% set x | f %}`, which filter their body's output. */
  readonly input: Expression | undefined;
}

export interface TestCall extends Node, Arguments {
  readonly kind: 'test';
  readonly name: string;
  readonly input: Expression;
}

/** `a if test else b` */
export interface Conditional extends Node {
  readonly kind: 'conditional';
  readonly test: Expression;
  readonly then: Expression;
  readonly otherwise: Expression | undefined;
}

export type Expression =
  | Constant
  | Name
  | ListLiteral
  | TupleLiteral
  | DictLiteral
  | Unary
  | Binary
  | Logical
  | Concat
  | Compare
  | Attribute
  | Item
  | Slice
  | Call
  | FilterCall
  | TestCall
  | Conditional;

/** Assignment target of `set`, `for` and `with`. */
export type Target =
  | { readonly kind: 'name'; readonly name: string; readonly offset: number }
  | { readonly kind: 'tuple'; readonly items: readonly Target[]; readonly offset: number }
  | {
      readonly kind: 'namespace';
      readonly name: string;
      readonly attribute: string;
      readonly offset: number;
    };

/** Template text. */
export interface Data extends Node {
  readonly kind: 'data';
  readonly text: string;
}

/** Consecutive text and `{{ … }}`. */
export interface Output extends Node {
  readonly kind: 'output';
  readonly parts: readonly (Data | Expression)[];
}

export interface If extends Node {
  readonly kind: 'if';
  readonly test: Expression;
  readonly body: readonly Statement[];
  readonly elifs: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
  readonly otherwise: readonly Statement[];
}

export interface For extends Node {
  readonly kind: 'for';
  readonly target: Target;
  readonly iterable: Expression;
  readonly test: Expression | undefined;
  readonly recursive: boolean;
  readonly body: readonly Statement[];
  readonly otherwise: readonly Statement[];
}

export interface SetStatement extends Node {
  readonly kind: 'set';
  readonly target: Target;
  readonly value: Expression;
}

export interface SetBlock extends Node {
  readonly kind: 'setBlock';
  readonly target: Target;
  readonly filter: FilterCall | undefined;
  readonly body: readonly Statement[];
}

export interface With extends Node {
  readonly kind: 'with';
  readonly bindings: readonly { readonly target: Target; readonly value: Expression }[];
  readonly body: readonly Statement[];
}

export interface Parameter {
  readonly name: string;
  readonly fallback: Expression | undefined;
  readonly offset: number;
}

export interface Macro extends Node {
  readonly kind: 'macro';
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
}

export interface CallBlock extends Node {
  readonly kind: 'callBlock';
  readonly parameters: readonly Parameter[];
  readonly call: Call;
  readonly body: readonly Statement[];
}

export interface FilterBlock extends Node {
  readonly kind: 'filterBlock';
  readonly filter: FilterCall;
  readonly body: readonly Statement[];
}

export interface Autoescape extends Node {
  readonly kind: 'autoescape';
  readonly value: Expression;
  readonly body: readonly Statement[];
}

export interface Block extends Node {
  readonly kind: 'block';
  readonly name: string;
  readonly scoped: boolean;
  readonly required: boolean;
  readonly body: readonly Statement[];
}

/** `{% extends layout %}` */
export interface Extends extends Node {
  readonly kind: 'extends';
  readonly layout: Expression;
}

/** `{% include layout %}` */
export interface Include extends Node {
  readonly kind: 'include';
  readonly layout: Expression;
  readonly ignoreMissing: boolean;
  readonly withContext: boolean;
}

/** `{% import layout as target %}` */
export interface Import extends Node {
  readonly kind: 'import';
  readonly layout: Expression;
  readonly target: string;
  readonly withContext: boolean;
}

/** `{% from layout import name as target %}` */
export interface FromImport extends Node {
  readonly kind: 'fromImport';
  readonly layout: Expression;
  readonly names: readonly { readonly name: string; readonly target: string }[];
  readonly withContext: boolean;
}

/** A statement that loads a layout. */
export type LoadStatement = Extends | Include | Import | FromImport;

export type Statement =
  | Output
  | If
  | For
  | SetStatement
  | SetBlock
  | With
  | Macro
  | CallBlock
  | FilterBlock
  | Autoescape
  | Block
  | LoadStatement;
