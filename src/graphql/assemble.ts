import type { FieldError } from './response.js';
import type { IntrospectionField, Plan, PlannedField, StatementField, UtilityField } from './plan/plan.js';
import type { FieldResult } from './runTransaction.js';

/** An operation's result: JSON text by response key, in the order of the document. */
export interface Execution {
  readonly fields: readonly (readonly [key: string, json: string])[];
  readonly errors: readonly FieldError[];
}

interface Parts {
  readonly results: ReadonlyMap<StatementField, FieldResult>;
  readonly utilities: ReadonlyMap<UtilityField, FieldResult>;
  readonly introspections: ReadonlyMap<IntrospectionField, FieldResult>;
}

/** Concatenates the texts from PostgreSQL; nothing is parsed. */
export function assemble(plan: Plan, parts: Parts): Execution {
  const errors: FieldError[] = [];
  const take = (result: FieldResult = 'null'): string => {
    if (typeof result === 'string') return result;
    errors.push(result);
    return 'null';
  };
  const jsonOf = (field: PlannedField): string => {
    switch (field.kind) {
      case 'statement':
        return take(parts.results.get(field));
      case 'utility':
        return take(parts.utilities.get(field));
      case 'refused':
        return take(field.error);
      case 'constant':
        return field.json;
      case 'introspection':
        return take(parts.introspections.get(field));
      case 'object':
        return `{${field.fields.map((item) => `"${item.key}":${jsonOf(item)}`).join(',')}}`;
    }
  };
  return { fields: plan.fields.map((field) => [field.key, jsonOf(field)]), errors };
}
