import type { GraphQLFieldConfig, GraphQLFieldConfigMap, GraphQLResolveInfo } from 'graphql';
import type { TemplatePool } from 'rowpost-jinja2';
import type { StatementRunner } from '../db/sql/statementRunner.js';
import type { Principal } from '../db/roles/principal.js';
import type { Carriers } from '../email/carriers/sending.js';
import type { Services } from './services.js';
import type { Allowance } from '../graphql/allowance.js';
import type { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import type { OidcSetUp } from './oidc/oidcSetUp.js';
import type { DiscoveredEndpoints } from './oidc/providerEndpoints.js';
import type { PasswordHashes } from './request/passwordHashes.js';
import type { ResponseValues } from './request/responseValues.js';

/** Dependencies of the control objects. */
export interface ControlEngineDeps extends Services {
  readonly templates: TemplatePool;
  /** Sends test emails. */
  readonly carriers: Carriers;
}

export interface ControlOptions {
  /** False for GET, which must not change anything. */
  readonly allowMutation: boolean;
  /** Rate limits of anonymous clients. */
  readonly allowance?: Allowance | undefined;
  /** For log messages. */
  readonly requestId?: string | undefined;
  /** When the caller last signed in with a password or at a provider, in milliseconds since the epoch. */
  readonly authTimeMs?: number | undefined;
  /** The sign-in that the caller's token came from. */
  readonly sessionid?: string | undefined;
  /** The API key that the request was made with, or that its token came from. */
  readonly keyid?: string | undefined;
  /** The roles that act as the caller, by `Utility.role_token`. */
  readonly actors?: readonly number[];
  /** Stores what the provider's discovery document says. */
  readonly learnProvider?: (providerid: number) => Promise<void>;
  readonly oidcSetUp?: OidcSetUp;
  /** Issues an access token for `Utility.role_token`. */
  readonly issueToken?: (subject: Principal) => Promise<string>;
}

/** What the resolvers of one request share. */
export interface ControlContext {
  readonly principal: Principal;
  /** The transaction of the request's mutations; no transaction for queries and external calls. */
  readonly db: StatementRunner;
  readonly isTransaction: boolean;
  /** Limits how many emails a tenant composes at once. */
  readonly composing: TenantLimiter;
  /** Limits how many carriers' responses a tenant's requests wait for at once. */
  readonly calling: TenantLimiter;
  /** Divides the service's connections among tenants. Lists, transactions and explanations are within it. */
  readonly connections: TenantLimiter;
  readonly deps: ControlEngineDeps;
  readonly options: ControlOptions;
  readonly passwordHashes: PasswordHashes;
  /** Of new identity providers. */
  readonly discoveredEndpoints: DiscoveredEndpoints;
  /** Whether the caller may change how it signs in itself. */
  readonly isReauthenticated: boolean;
  /** Reads a list field with its sub-selection; serialized, since each takes a connection. */
  readonly list: (info: GraphQLResolveInfo, table: string) => Promise<readonly object[]>;
  /** Reads a field of `Aggregates`; serialized with the lists. */
  readonly aggregate: (info: GraphQLResolveInfo) => Promise<unknown[]>;
  /** Runs one task after another. */
  readonly serialize: <T>(work: () => Promise<T>) => Promise<T>;
  /** Counts the values of the response. */
  readonly values: ResponseValues;
  /** Counts a read of related rows. Throws AppError DOCUMENT_TOO_COMPLEX after too many. */
  readonly countRelatedRead: () => void;
  /** Called once the mutations are committed. */
  readonly afterCommit: (() => void)[];
  /** Set by the first mutation that fails: the rest are skipped, since all will be rolled back. */
  failed: boolean;
}

/** A field of `/roles_pbac`, and several by name. */
export type ControlField<Args = unknown> = GraphQLFieldConfig<unknown, ControlContext, Args>;
export type ControlFields = GraphQLFieldConfigMap<unknown, ControlContext>;
