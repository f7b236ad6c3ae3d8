import {
  CALIBRATION_PER_SECOND,
  COMPONENTS,
  type Component,
  type MeasuredPart,
  type Measurements,
} from './measurements.js';
import { solveNonNegative } from './leastSquares.js';
import { OPERATIONS, type Operation } from './machine.js';
import { simulateParts, type SimulatedPart } from './replay.js';
import type { Costs, Terms } from './site.js';

const ROUNDS = 5;
/** Where the search begins, in milliseconds. */
const FIRST_GUESS = { idle: 5, wake: 0.05, batch: 0.1, email: 0.3, mutation: 0.2, cold: 0, strange: 0 };
/** Errors count in proportion to what was measured, but not below this: CPU time is counted in hundredths of a second. */
const LEAST_SECONDS = 0.1;

/**
 * The costs with which the simulation uses as much CPU time as was measured at rest, at one low load, and of backlogs. How
 * often something is done depends a little on what it costs, so this is repeated.
 */
export function calibrate(measured: Measurements, terms: Omit<Terms, 'costMs'>): Costs {
  const parts = measured.parts.filter(
    ({ load }) =>
      load.kind !== 'closed' && (load.kind !== 'paced' || load.perSecond === CALIBRATION_PER_SECOND),
  );
  let costs = costsOf(() => FIRST_GUESS);
  for (let round = 0; round < ROUNDS; round++) {
    const simulated = simulateParts(measured, parts, { ...terms, costMs: costs });
    costs = costsOf((component) => solve(component, parts, simulated));
  }
  return costs;
}

function costsOf(of: (component: Component) => Readonly<Record<Operation, number>>): Costs {
  return Object.fromEntries(COMPONENTS.map((component) => [component, of(component)])) as Costs;
}

function solve(
  component: Component,
  parts: readonly MeasuredPart[],
  simulated: readonly SimulatedPart[],
): Readonly<Record<Operation, number>> {
  const equations = parts.flatMap(({ cpuSeconds }, at) => {
    const done = simulated[at]?.done[component];
    if (!done) return [];
    const scale = 1000 * Math.max(LEAST_SECONDS, cpuSeconds[component]);
    const factors = OPERATIONS.map((operation) => done[operation] / scale);
    return [{ factors, result: (cpuSeconds[component] * 1000) / scale }];
  });
  const costs = solveNonNegative(equations);
  return Object.fromEntries(
    OPERATIONS.map((operation, at) => [operation, costs[at] ?? 0]),
  ) as Costs[Component];
}
