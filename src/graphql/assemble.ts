import type { Execution, FieldError } from './response.js';
import type { IntrospectionField, Plan, PlannedField, StatementField, UtilityField } from './plan/plan.js';

/** The result of a field: JSON text, or its error. */
export type FieldResult = string | FieldError;
export type StatementResults = ReadonlyMap<StatementField, FieldResult>;
export type UtilityResults = ReadonlyMap<UtilityField, FieldResult>;
export type IntrospectionResults = ReadonlyMap<IntrospectionField, FieldResult>;

/** Mutations have only the first. */
interface Parts {
  readonly results: StatementResults;
  readonly utilities?: UtilityResults;
  readonly introspections?: IntrospectionResults | undefined;
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
        return take(parts.utilities?.get(field));
      case 'refused':
        return take(field.error);
      case 'constant':
        return field.json;
      case 'introspection':
        return take(parts.introspections?.get(field));
      case 'object':
        return `{${field.fields.map((item) => `"${item.key}":${jsonOf(item)}`).join(',')}}`;
    }
  };
  return { fields: plan.fields.map((field) => [field.key, jsonOf(field)]), errors };
}
