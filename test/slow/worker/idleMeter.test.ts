import { createIdleMeter } from '../../../src/worker/idleMeter.js';
import { waitFor } from '../../support/waitFor.js';

describe('delivery: what of its time a worker has nothing to do', () => {
  it('is distinguished from a busy event loop, in both directions', async () => {
    const idle = createIdleMeter();
    // One window may be that of a process that a busy machine did not let run.
    const isIdle = () => idle() > 0.5;
    await waitFor('an idle window', isIdle);
    let isBusy = true;
    const spin = (): void => {
      if (isBusy) setImmediate(spin);
    };
    spin();
    await waitFor('a busy window', () => idle() < 0.3);
    isBusy = false;
    await waitFor('an idle window again', isIdle);
  });
});
