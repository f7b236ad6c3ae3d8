import type { FieldNode } from 'graphql';
import type { CompiledStatement } from '../../db/pool/compiledStatement.js';
import type { FieldError } from '../response.js';

/** How to execute an operation. Plain data, built once per document and shape of its variables, and run many times. */
export interface Plan {
  readonly kind: 'query' | 'mutation';
  readonly fields: readonly PlannedField[];
  /** Whether results contain placeholders, see `FileUrls`. */
  readonly hasFilePlaceholders: boolean;
}

export type PlannedField =
  StatementField | ConstantField | RefusedField | IntrospectionField | ObjectField | UtilityField;

interface Keyed {
  /** The response key. */
  readonly key: string;
}

/** Its result is the first column of the first row of its last statement, which is JSON text. */
export interface StatementField extends Keyed {
  readonly kind: 'statement';
  readonly statements: readonly CompiledStatement[];
  /** The field's path in the response and its node in the document, for errors. */
  readonly path: readonly string[];
  readonly nodes: readonly FieldNode[];
  /** The table that the field changes. */
  readonly table?: string;
  /** Whether it changes no existing row. */
  readonly onlyInserts?: boolean;
}

export interface ConstantField extends Keyed {
  readonly kind: 'constant';
  readonly json: string;
}

/** Resolves to null with an error; the other fields of a query are unaffected. */
export interface RefusedField extends Keyed {
  readonly kind: 'refused';
  readonly error: FieldError;
}

/** `__schema` and `__type`, resolved from the schema alone. */
export interface IntrospectionField extends Keyed {
  readonly kind: 'introspection';
  readonly nodes: readonly FieldNode[];
}

/** An object whose fields have plans of their own. */
export interface ObjectField extends Keyed {
  readonly kind: 'object';
  readonly fields: readonly PlannedField[];
}

/** `introspect`, the only field of `Utility`. */
export interface UtilityField extends Keyed {
  readonly kind: 'utility';
}

/** The field or, for an object, its fields, as far as they are resolved by statements. */
export function statementFields(field: PlannedField): readonly StatementField[] {
  if (field.kind === 'object') return field.fields.flatMap(statementFields);
  return field.kind === 'statement' ? [field] : [];
}
