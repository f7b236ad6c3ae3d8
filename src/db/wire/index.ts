/**
 * PostgreSQL's protocol, and all that Rowpost uses of pg's private parts. Only this file is imported from outside. The parts
 * are listed in CONTRIBUTING.md, and test/libraries/pg.test.ts fails if a version of pg changes one.
 */

// Statements in one write: as one transaction, or as pg's own queries.
export {
  runPipeline,
  type PipelineResult,
  type PipelineStep,
  type Rows,
  type StatementTrace,
} from './pipeline.js';
export { inOneWrite } from './oneWrite.js';
export { wireText } from './wireText.js';

export { copyIn } from './copyIn.js';

// For new connections: break on what must not be read.
export { limitMessages } from './messageLimit.js';
export { breakOnCanceledReplicationWait } from './replicationWait.js';

// What pg knows about a connection but does not tell, and what it can do to one.
export {
  backendOf,
  breakConnection,
  endPooled,
  onErrorCode,
  onParameter,
  pendingStatement,
  readUrl,
  sendCancelRequest,
  setHost,
} from './pgClient.js';
