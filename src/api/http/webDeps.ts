import type { ControlEngine } from '../../control/controlEngine.js';
import type { HealthChecks } from '../../health/readiness.js';
import type { Services } from '../../control/services.js';
import type { ReadSns } from '../webhooks/sns.js';

export interface WebDeps extends Services {
  /** The control objects: `/roles_pbac`. */
  readonly control: ControlEngine;
  /** Health checks of `/readyz`, by name. */
  readonly checks: HealthChecks;
  /** Replaces SNS in tests. */
  readonly readSns?: ReadSns;
}
