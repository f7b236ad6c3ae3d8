// Loaded into the peer's web process: nothing is counted or timed. Everything else is the shipped program.
import { commitToAccepted, deliveryOutcomes } from '../../dist/metrics.js';

const nothing = () => undefined;
// The classes of the program's own copy of prom-client.
deliveryOutcomes.constructor.prototype.inc = nothing;
commitToAccepted.constructor.prototype.observe = nothing;
