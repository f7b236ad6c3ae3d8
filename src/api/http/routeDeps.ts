import type { OidcSetUp } from '../../control/oidc/oidcSetUp.js';
import type { Provisioner } from '../../control/oidc/provisioner.js';
import type { Authenticator } from '../auth/authenticate.js';
import type { SignInResponder } from '../auth/signInResponder.js';
import type { SignInEvents } from '../auth/signInEvents.js';
import type { Sessions } from '../auth/sessions.js';
import type { SignInLimits } from '../auth/signInLimits.js';
import type { Tokens } from '../auth/tokens.js';
import type { ConsoleSessions } from '../console/consoleSession.js';
import type { BodyBudget } from './bodyBudget.js';
import type { ProviderClient } from '../oidc/providerClient.js';
import type { ProviderIssuers } from '../oidc/providerIssuers.js';
import type { ProviderMetadata } from '../oidc/providerMetadata.js';
import type { ProviderKeys } from '../oidc/providerKeys.js';
import type { AnonymousLimits } from './anonymousLimits.js';
import type { UnidentifiedTurns } from './unidentifiedTurns.js';
import type { PasswordEmails } from '../signIn/passwordEmails.js';
import type { WebDeps } from './webDeps.js';

/** What routes share in addition to `WebDeps`; `expressApp.ts` creates it once. */
export interface RouteDeps extends WebDeps {
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly sessions: Sessions;
  readonly signInEvents: SignInEvents;
  readonly passwordEmails: PasswordEmails;
  readonly limits: SignInLimits;
  /** On connections of `database.pool`. */
  readonly turns: UnidentifiedTurns;
  readonly respondToSignIn: SignInResponder;
  readonly consoleSessions: ConsoleSessions;
  readonly bodies: BodyBudget;
  readonly anonymousLimits: AnonymousLimits;
  readonly callProvider: ProviderClient;
  readonly providerKeys: ProviderKeys;
  readonly providerMetadata: ProviderMetadata;
  readonly issuers: ProviderIssuers;
  readonly oidcSetUp: OidcSetUp;
  readonly provisioner: Provisioner;
}
