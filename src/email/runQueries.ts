import type { EmailQuery, EmailType } from '../db/email/emailTypes.js';
import type { Principal, PrincipalSource } from '../db/roles/principal.js';
import { AppError } from '../foundation/errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { traced } from '../foundation/observability/tracing/tracing.js';
import { EmailProblem, type EmailTrigger, type QueryOutcome } from './email.js';
import type { EmailFields } from './emailFields.js';
import type { HeldResults } from './heldResults.js';
import type { TextOf } from './renderFields.js';
import { isTransient } from './transientErrors.js';

export interface QueryDeps {
  readonly engine: Pick<DataEngine, 'runEmailQuery' | 'readsWith'>;
  readonly principals: Pick<PrincipalSource, 'load'>;
}

/**
 * Runs a type's queries concurrently, read-only, under the rules of the trigger's role. None sees data older than the
 * trigger's event. Throws EmailProblem if the role is gone.
 */
export async function runQueries(
  deps: QueryDeps,
  trigger: EmailTrigger,
  type: EmailType,
  {
    filters,
    filterOf,
    held,
  }: { readonly filters: EmailFields['filters']; readonly filterOf: TextOf; readonly held: HeldResults },
): Promise<readonly QueryOutcome[]> {
  const principal = await loadQueryRole(deps, trigger);
  const reads = trigger.event && (await deps.engine.readsWith(trigger.event));
  return Promise.all(
    type.queries.map(async (query, index): Promise<QueryOutcome> => {
      const field = filters[index];
      const { outvar } = query;
      try {
        const attributes = { 'rowpost.query.outvar': outvar };
        const result = await traced(trigger.span, 'query', { attributes }, (span) =>
          deps.engine.runEmailQuery(
            principal,
            {
              query: query.query,
              ...(field ? { filter: filterOf(field) } : {}),
              ...otherArguments(query),
            },
            { span, reads, hold: held.hold },
          ),
        );
        return { outvar, ok: true, ...result };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { outvar, ok: false, problem: problemOf(error, query, index) };
      }
    }),
  );
}

async function loadQueryRole(
  { principals }: QueryDeps,
  { tenantid, queryRoleid }: EmailTrigger,
): Promise<Principal> {
  const principal = await principals.load(tenantid, queryRoleid);
  if (principal) return principal;
  throw new EmailProblem('failed', {
    code: 'QUERY_ROLE_MISSING',
    message: "the role that runs the email's queries is gone",
  });
}

function otherArguments(query: EmailQuery) {
  const ordering = typeof query.ordering === 'string' ? [query.ordering] : query.ordering;
  return {
    ...(ordering == null ? {} : { ordering }),
    ...(typeof query.limit === 'number' ? { limit: query.limit } : {}),
    ...(typeof query.offset === 'number' ? { offset: query.offset } : {}),
  };
}

function problemOf(error: AppError, query: EmailQuery, index: number): EmailProblem {
  const { line, column } = error.details;
  return new EmailProblem(isTransient(error) ? 'retry' : 'failed', {
    code: error.code,
    message: `query "${query.outvar}": ${error.message}`,
    field: `queries[${index}].${argumentOf(error, query)}`,
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof column === 'number' ? { column } : {}),
    hint: error.hint,
  });
}

function argumentOf({ code }: AppError, query: EmailQuery): 'query' | 'filter' | 'ordering' {
  if (code.startsWith('FILTER_') && query.filter != null) return 'filter';
  if (code === 'ORDERING_INVALID' && query.ordering != null) return 'ordering';
  return 'query';
}
