import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { generateKeyPair } from 'jose';
import { Tokens } from '../../../src/api/auth/tokens.js';
import type { SigningKeys } from '../../../src/api/auth/signingKeys.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

/** Verified tokens were kept by number, as if each had 450 characters: those of a chain of roles took 200 MB of a web process. */
describe('attack: tokens of long chains of roles', function () {
  it('are kept within tens of megabytes', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const keys = {
      signer: () => Promise.resolve({ kid: 'k', privateKey }),
      verifier: () => Promise.resolve(publicKey),
    } as unknown as SigningKeys;
    const config = { accessTokenSeconds: 3_600, refreshTokenSeconds: 3_600, cell: undefined };
    const tokens = new Tokens(keys, config, { now: () => Date.now() });
    const actors = Array.from({ length: 45 }, (_, n) => ({ roleid: n, tokensValidFromMs: 1.7e12 + n }));
    const before = heapMb();
    for (let n = 0; n < 10_000; n++) {
      const subject = { tenantid: 1, roleid: n, tokensValidFromMs: 0 };
      const token = await tokens.issue(subject, 'access', { actors, client: randomUUID() });
      expect((await tokens.verify(token)).roleid).to.equal(n);
    }
    expect(heapMb() - before).to.be.below(45);
    expect(tokens).to.be.instanceOf(Tokens);
  });
});
