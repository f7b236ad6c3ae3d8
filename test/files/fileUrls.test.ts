import { expect } from 'chai';
import { FileUrls } from '../../src/graphql/files/fileUrls.js';
import { KeyRing } from '../../src/config/secrets.js';

const NO_INPUTS = { variables: {}, principal: {} };
const KEY = '3e0e5e0a-3a52-4a4c-9a1e-0123456789ab';

describe('files: URLs in responses', () => {
  it('are signed once per file, however often requested', () => {
    const keyRing = KeyRing.parse(KeyRing.generateEntry('k'));
    const seal = keyRing.seal.bind(keyRing);
    let sealed = 0;
    keyRing.seal = (...args) => {
      sealed += 1;
      return seal(...args);
    };
    const seconds = { urlSeconds: 60, linkSeconds: 60 };
    const urls = new FileUrls({ ...seconds, keyRing, baseUrl: '', maxBytes: 1, now: Date.now });
    const mark = (key: string): string => `${String(urls.options.placeholders.GET(NO_INPUTS))}${key}:;"`;
    const placeholders = [...Array<string>(1_000).fill(mark(KEY)), mark(KEY.replace('3', '4'))];

    const response = urls.write(`[${placeholders.join(',')}]`, { tenantid: 7, roleid: 8 } as never);

    const written = JSON.parse(response) as string[];
    expect([written.length, new Set(written).size, sealed]).to.deep.equal([1_001, 2, 2]);
  });
});
