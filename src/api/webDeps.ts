import type { ControlEngine } from '../control/controlEngine.js';
import type { Services } from '../services.js';
import type { HealthCheck } from './health.js';

export interface WebDeps extends Services {
  /** The control objects: `/roles_pbac`. */
  readonly control: ControlEngine;
  /** Health checks of `/readyz`, by name. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}
