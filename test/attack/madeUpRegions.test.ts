import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { httpCarrier } from '../../src/email/carriers/httpCarrier.js';
import { ses, type SesAccount } from '../../src/email/carriers/ses/ses.js';
import { openCarrier } from '../support/openCarrier.js';

const REGIONS = 5_000;
/** A client of a carrier takes 2.5 KB, even where nothing responds. */
const MAX_BYTES_PER_REGION = 500;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Regions are part of a host name; which of them exist is known to Amazon. */
describe('attack: a tenant that tries one region of SES after the other', () => {
  it("does not fill the process's memory", async () => {
    const carrier = openCarrier(
      httpCarrier<SesAccount>({
        ...ses,
        baseUrlOf: ({ region }) => `http://127.0.0.1:9/${region}`,
        toRequest: () => ({ method: 'POST', url: '/', headers: {} }),
        verifyRequest: () => ({ method: 'GET', url: '/', headers: {} }),
        wordsIn: () => '',
        idIn: () => null,
        readFailure: () => undefined,
      }),
    );
    const verify = async (from: number, to: number): Promise<void> => {
      for (let number = from; number < to; number++) {
        const account = {
          kind: 'ses',
          accessKeyId: 'a',
          secretAccessKey: 's',
          region: `eu-made-${number}`,
        } as const;
        expect((await carrier.verify(account, 5_000)).ok).to.equal(false);
      }
    };
    await verify(0, 500);
    const before = heapBytes();
    await verify(500, 500 + REGIONS);
    expect((heapBytes() - before) / REGIONS).to.be.below(MAX_BYTES_PER_REGION);
    carrier.close();
  });
});

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
