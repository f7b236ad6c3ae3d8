import { executeSync, Kind, type DocumentNode, type GraphQLSchema, type SelectionNode } from 'graphql';
import type { FieldError } from './answer.js';
import type { ReadyDocument } from './document/document.js';
import type { Plan, PlannedField, StatementField, UtilityField } from './plan/plan.js';
import type { FieldResult } from './runPlan.js';

/** What an operation gave: JSON text by response key, in the order of the document. */
export interface Execution {
  readonly fields: readonly (readonly [key: string, json: string])[];
  readonly errors: readonly FieldError[];
}

interface Parts {
  readonly results: ReadonlyMap<StatementField, FieldResult>;
  readonly utilities: ReadonlyMap<UtilityField, FieldResult>;
  readonly schema: GraphQLSchema;
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Puts the texts that PostgreSQL wrote side by side: nothing is parsed. */
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
        return introspect(parts, field.key);
      case 'object':
        return `{${field.fields.map((item) => `"${item.key}":${jsonOf(item)}`).join(',')}}`;
    }
  };
  return { fields: plan.fields.map((field) => [field.key, jsonOf(field)]), errors };
}

/** graphql-js answers `__schema` and `__type`, from the schema alone. */
function introspect({ schema, ready, variables }: Parts, key: string): string {
  const { operation } = ready;
  const asksForKey = (node: SelectionNode): boolean =>
    node.kind !== Kind.FIELD || (node.alias?.value ?? node.name.value) === key;
  const selections = operation.selectionSet.selections.filter(asksForKey);
  const narrowed = { ...operation, selectionSet: { ...operation.selectionSet, selections } };
  const document: DocumentNode = {
    ...ready.document,
    definitions: ready.document.definitions.map((node) => (node === operation ? narrowed : node)),
  };
  const { data } = executeSync({
    schema,
    document,
    variableValues: variables,
    operationName: operation.name?.value ?? null,
  });
  return JSON.stringify(data?.[key] ?? null);
}
