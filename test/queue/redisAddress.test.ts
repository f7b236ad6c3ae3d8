import { expect } from 'chai';
import { parseRedisUrl } from '../../src/config/redisAddress.js';

const access = { isTls: false, username: undefined, password: undefined };
const sentinelAccess = { ...access, sentinelUsername: undefined, sentinelPassword: undefined };

describe('REDIS_URL', () => {
  for (const [url, address] of [
    ['redis://localhost', { kind: 'server', url: 'redis://localhost' }],
    ['rediss://u:p@h:6380/2', { kind: 'server', url: 'rediss://u:p@h:6380/2' }],
    [
      'redis+cluster://a,b:7001',
      {
        kind: 'cluster',
        ...access,
        hosts: [
          { host: 'a', port: 6379 },
          { host: 'b', port: 7001 },
        ],
      },
    ],
    [
      'rediss+cluster://:p%40ss@[::1]:7000/0',
      {
        kind: 'cluster',
        isTls: true,
        username: undefined,
        password: 'p@ss',
        hosts: [{ host: '::1', port: 7000 }],
      },
    ],
    [
      'redis+sentinel://s1,s2:5000/mymaster',
      {
        kind: 'sentinel',
        ...sentinelAccess,
        primaryName: 'mymaster',
        database: 0,
        hosts: [
          { host: 's1', port: 26379 },
          { host: 's2', port: 5000 },
        ],
      },
    ],
    [
      'redis+sentinel://app:secret@s1/my%20primary/3?sentinel_username=watch&sentinel_password=a%26b',
      {
        kind: 'sentinel',
        isTls: false,
        username: 'app',
        password: 'secret',
        sentinelUsername: 'watch',
        sentinelPassword: 'a&b',
        primaryName: 'my primary',
        database: 3,
        hosts: [{ host: 's1', port: 26379 }],
      },
    ],
  ] as const) {
    it(`reads ${url}`, () => {
      expect(parseRedisUrl(url)).to.deep.equal(address);
    });
  }

  for (const [url, problem] of [
    ['http://secret@h', /^is not a redis, rediss/],
    ['redis+cluster://', /host that is not/],
    ['redis+cluster://secret@h:99999', /host that is not/],
    ['redis+cluster://secret@h,', /host that is not/],
    ['redis+cluster://secret@h/2', /^names a database/],
    ['redis+cluster://secret@h?name=x', /^has a parameter/],
    ['redis+sentinel://secret@h', /^needs the name/],
    ['redis+sentinel://secret@h/name/x', /^needs the name/],
    ['redis+sentinel://secret%@h/name', /^has a %/],
    ['redis+sentinel://secret@h/name?sentinelPassword=secret', /^has a parameter/],
  ] as const) {
    it(`refuses ${url}, quoting nothing of it`, () => {
      expect(() => parseRedisUrl(url))
        .to.throw(problem)
        .with.property('message')
        .that.does.not.include('secret');
    });
  }
});
