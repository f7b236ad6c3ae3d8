import { withInstallation } from '../process/compose.js';
import { UsageError } from '../foundation/errors.js';
import { FieldError } from '../graphql/response.js';
import type { GraphqlRequest } from '../graphql/dataEngine.js';
import { DocumentError } from '../graphql/document/document.js';
import type { ExplainedField } from '../graphql/explain.js';
import { parseJsonObject } from '../foundation/json/losslessJson.js';
import { ArgumentError, type Command } from './command.js';
import { readId, readOptions, readTenantId } from './options.js';

/** Prints what /query would run for a role, statement by statement, with PostgreSQL's plans. Runs nothing. */
export const explain: Command = async (args) => {
  const { tenantid, roleid, request } = readArguments(args);
  return withInstallation(async ({ openEngine, principals }) => {
    const principal = await principals.load(tenantid, roleid);
    if (!principal) throw new UsageError(`tenant ${tenantid} has no role ${roleid} that may sign in`);
    const engine = await openEngine();
    const fields = await engine.explain(principal, request).catch((error: unknown) => {
      throw readable(error);
    });
    process.stdout.write(fields.map(describe).join('\n'));
  });
};

function describe({ path, statements, error }: ExplainedField): string {
  const name = `-- ${path.join('.')}`;
  if (error) return `${name}: ${error.message} (${error.code})\n`;
  if (statements.length === 0) return `${name}: resolved without PostgreSQL\n`;
  return statements.map(({ sql, plan }) => `${name}\n${sql}\n\n${plan.join('\n')}\n`).join('\n');
}

/** Errors of the document are shown as usage errors, one per line. */
function readable(error: unknown): unknown {
  if (error instanceof FieldError) return error.error;
  if (!(error instanceof DocumentError)) return error;
  const messages =
    error.graphqlErrors.length > 0
      ? error.graphqlErrors.map(({ message }) => message)
      : [error.error.message];
  return new UsageError(messages.join('\n'));
}

interface Arguments {
  readonly tenantid: number;
  readonly roleid: number;
  readonly request: GraphqlRequest;
}

function readArguments(args: readonly string[]): Arguments {
  const options = readOptions(args, ['tenant', 'role', 'query', 'variables', 'operation']);
  const { query, variables, operation } = options;
  if (query === undefined) throw new ArgumentError('--query is missing');
  return {
    tenantid: readTenantId(options),
    roleid: readId(options.role, '--role takes the id of a role'),
    request: {
      query,
      ...(variables === undefined ? {} : { variables: readVariables(variables) }),
      ...(operation === undefined ? {} : { operationName: operation }),
    },
  };
}

function readVariables(text: string): Readonly<Record<string, unknown>> {
  const variables = parseJsonObject(text);
  if (!variables) throw new ArgumentError('--variables takes a JSON object');
  return variables;
}
