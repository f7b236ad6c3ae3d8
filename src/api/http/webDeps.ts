import type { TemplatePool } from 'rowpost-jinja2';
import type { ControlEngine } from '../../control/controlEngine.js';
import type { HealthChecks } from '../../health/probes.js';
import type { Services } from '../../control/services.js';
import type { Carriers } from '../../email/carriers/sending.js';
import type { ReadText } from '../../email/carriers/reports/webhook.js';

export interface WebDeps extends Services {
  /** Send emails about passwords. */
  readonly carriers: Carriers;
  /** Renders the names of roles that sign-ins make. */
  readonly templates: Pick<TemplatePool, 'render'>;
  /** The control objects: `/roles_pbac`. */
  readonly control: ControlEngine;
  /** Health checks of `/readyz`, by name. */
  readonly checks: HealthChecks;
  /** Replaces SNS in tests. */
  readonly readSns?: ReadText;
}
