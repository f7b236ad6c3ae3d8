import { expect } from 'chai';
import { loadConfig } from '../../src/process/loadConfig.js';
import { parseStorageUrl } from '../../src/config/storageUrl.js';
import { testEnv } from '../support/testConfig.js';

describe('files: STORAGE_URL', () => {
  it('may name a folder', () => {
    for (const [url, folder] of [
      ['file:.rowpost/files', '.rowpost/files'],
      ['file:/var/lib/rowpost', '/var/lib/rowpost'],
      ['file:///var/lib/rowpost', '/var/lib/rowpost'],
    ] as const) {
      expect(parseStorageUrl(url)).to.deep.equal({ kind: 'folder', folder });
    }
  });

  it('may name a bucket and its endpoint', () => {
    expect(parseStorageUrl('s3://files')).to.deep.equal({
      kind: 's3',
      bucket: 'files',
      prefix: '',
      region: 'us-east-1',
    });
    expect(
      parseStorageUrl('s3://me:se%2Fcret@files/a/b?region=eu-north-1&endpoint=https%3A%2F%2Fs3.example'),
    ).to.deep.equal({
      kind: 's3',
      bucket: 'files',
      prefix: 'a/b/',
      region: 'eu-north-1',
      endpoint: 'https://s3.example',
      credentials: { accessKeyId: 'me', secretAccessKey: 'se/cret' },
    });
  });

  for (const url of [
    '',
    'files',
    'file:',
    'http://x/',
    's3:',
    's3://b/../x%20',
    's3://b?regoin=x',
    's3://b?endpoint=ftp://x',
  ]) {
    it(`rejects ${url === '' ? 'an empty value' : url}`, () => {
      expect(() => parseStorageUrl(url)).to.throw();
    });
  }

  it('defaults to a folder inside the data folder, and is required in production', () => {
    expect(loadConfig(testEnv({ ROWPOST_DATA_DIR: '/data' })).storageUrl).to.equal('file:/data/files');
    const production = {
      NODE_ENV: 'production',
      BASE_URL: 'https://x.example',
      MAIL_TRANSPORT: 'sendgrid',
      DATABASE_URL: 'postgres://x/y',
    };
    expect(() => loadConfig(testEnv(production))).to.throw('STORAGE_URL is required');
    const plain = { ...production, STORAGE_URL: 's3://k:s@b?endpoint=http://s3.example' };
    expect(() => loadConfig(testEnv(plain))).to.throw('the endpoint of STORAGE_URL must be https');
    expect(loadConfig(testEnv({ ...production, STORAGE_URL: 'file:/srv/files' })).production).to.equal(true);
  });
});
