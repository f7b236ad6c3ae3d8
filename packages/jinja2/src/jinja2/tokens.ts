/** Token types; operators are named by their spelling. */
export type TokenType =
  | 'data'
  | 'variable_begin'
  | 'variable_end'
  | 'block_begin'
  | 'block_end'
  | 'name'
  | 'string'
  | 'integer'
  | 'float'
  | 'eof'
  | Operator;

export const OPERATORS = [
  '//', '**', '==', '!=', '>=', '<=',
  '+', '-', '/', '*', '%', '~', '[', ']', '(', ')', '{', '}', '>', '<', '=', '.', ':', '|', ',', ';',
] as const; // prettier-ignore

export type Operator = (typeof OPERATORS)[number];

export interface Token {
  readonly type: TokenType;
  /** Text of a name, a string's characters, template data, or the digits of a number. */
  readonly value: string;
  /** Where the token begins in the normalized source. */
  readonly offset: number;
}

const DESCRIPTIONS: Readonly<Partial<Record<TokenType, string>>> = {
  data: 'template data / text',
  variable_begin: 'begin of print statement',
  variable_end: 'end of print statement',
  block_begin: 'begin of statement block',
  block_end: 'end of statement block',
  eof: 'end of template',
};

/** A token type for error messages. */
export function describeType(type: TokenType): string {
  return DESCRIPTIONS[type] ?? type;
}

/** A token for error messages. */
export function describeToken(token: Token): string {
  return token.type === 'name' ? token.value : describeType(token.type);
}
