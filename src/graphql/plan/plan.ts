import type { FieldNode } from 'graphql';
import type { PreparedText } from '../../db/connection/preparedStatements.js';
import type { Slot } from '../../db/sql.js';
import type { FieldError } from '../answer.js';

/** How an operation is answered: data, made once for each document and shape of its variables, run many times. */
export interface Plan {
  readonly kind: 'query' | 'mutation';
  readonly fields: readonly PlannedField[];
  /** Whether answers hold marks, see `FileUrls`. */
  readonly hasFileMarks: boolean;
}

export type PlannedField =
  StatementField | ConstantField | RefusedField | IntrospectionField | ObjectField | UtilityField;

interface Keyed {
  /** The response key. */
  readonly key: string;
}

/** Answered by the first column of the first row of its last statement, which is JSON text. */
export interface StatementField extends Keyed {
  readonly kind: 'statement';
  readonly statements: readonly PlannedStatement[];
  /** Where the field stands in the answer and in the document, for its errors. */
  readonly path: readonly string[];
  readonly nodes: readonly FieldNode[];
  /** The table that the field changes. */
  readonly table?: string;
}

export interface PlannedStatement {
  readonly statement: PreparedText;
  readonly slots: readonly Slot[];
}

export interface ConstantField extends Keyed {
  readonly kind: 'constant';
  readonly json: string;
}

/** Null, with its error; the other fields of a query are answered. */
export interface RefusedField extends Keyed {
  readonly kind: 'refused';
  readonly error: FieldError;
}

/** `__schema` and `__type`, answered from the schema alone. */
export interface IntrospectionField extends Keyed {
  readonly kind: 'introspection';
  readonly nodes: readonly FieldNode[];
}

/** An object of fields that are planned themselves. */
export interface ObjectField extends Keyed {
  readonly kind: 'object';
  readonly fields: readonly PlannedField[];
}

export interface UtilityField extends Keyed {
  readonly kind: 'utility';
  readonly action: 'introspect';
}

/** The field itself, or those of the object that it is, as far as statements answer them. */
export function statementFields(field: PlannedField): readonly StatementField[] {
  if (field.kind === 'object') return field.fields.flatMap(statementFields);
  return field.kind === 'statement' ? [field] : [];
}
