import { expect } from 'chai';
import type { Account } from '../../../src/email/carriers/account.js';
import type { Carrier, CarrierDefinition, LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { postmark } from '../../../src/email/carriers/postmark/postmark.js';
import { resend } from '../../../src/email/carriers/resend/resend.js';
import type { SendContext, SendOutcome } from '../../../src/email/carriers/sending.js';
import { startFakeApi, type ApiCall, type ApiResponse, type FakeApi } from '../../support/fakeApi.js';
import { carrierOptions } from '../../support/openCarrier.js';

const RESEND = { kind: 'resend', apikey: 'k', shareCalls: true } as const;
const POSTMARK = { kind: 'postmark', apikey: 'k' } as const;

/** Two calls in a second. */
const LIMITED = { 'ratelimit-policy': '2;w=1' };

describe('carriers: emails that share calls', () => {
  let api: FakeApi;
  /** Intervals between calls that were asked for. */
  let reserved: number[] = [];
  const opened: { close(): void }[] = [];
  beforeEach(async () => {
    api = await startFakeApi();
    reserved = [];
  });
  afterEach(async () => {
    for (const carrier of opened.splice(0)) carrier.close();
    await api.stop();
  });

  function open<A extends Account>(definition: CarrierDefinition<A>): Carrier<A> {
    const carrier = definition.open({
      ...carrierOptions(api.url),
      reserveCall: (_tenantid, intervalMs) => {
        reserved.push(intervalMs);
        return Promise.resolve(20);
      },
    });
    opened.push(carrier);
    return carrier;
  }

  /** Sends emails at once. @returns the outcome of each */
  function sendAll<A extends Account>(
    carrier: Carrier<A>,
    account: A,
    emails: readonly LoadedEmail[],
    context: Partial<SendContext<A>> = {},
  ): Promise<readonly SendOutcome[]> {
    return Promise.all(
      emails.map((email) =>
        carrier.send(email, { account, deadlineMs: 5_000, mayStart: () => true, ...context }),
      ),
    );
  }

  const sizesOf = (calls: readonly ApiCall[]): number[] =>
    calls.map(({ path, body }) =>
      path.endsWith('/batch') ? (JSON.parse(body.toString()) as unknown[]).length : 1,
    );

  describe('Resend', () => {
    /** Accepts everything, except recipients of bad.example. */
    const accept = ({ path, body }: ApiCall): ApiResponse => {
      if (path !== '/emails/batch') {
        return {
          status: 200,
          headers: LIMITED,
          body: { id: subjectOf(JSON.parse(body.toString()) as ResendEmail) },
        };
      }
      const emails = JSON.parse(body.toString()) as readonly ResendEmail[];
      const isBad = ({ to }: ResendEmail): boolean => to.some((address) => address.includes('bad.example'));
      return {
        status: 200,
        headers: LIMITED,
        body: {
          data: emails.filter((email) => !isBad(email)).map((email) => ({ id: subjectOf(email) })),
          errors: emails.flatMap((email, index) =>
            isBad(email) ? [{ index, message: 'invalid `to`' }] : [],
          ),
        },
      };
    };

    it('as many as 100 share a call, as far apart as the rate limit asks', async () => {
      api.reply = accept;
      const outcomes = await sendAll(open(resend), RESEND, emailsTo(251));
      expect(sizesOf(api.calls)).to.deep.equal([100, 100, 51]);
      expect(reserved).to.deep.equal([525, 525, 525]);
      expect(outcomes).to.deep.equal(
        Array.from({ length: 251 }, (_, index) => ({
          kind: 'sent',
          httpStatus: 200,
          providerMessageId: `email ${index}`,
        })),
      );
      const [first, second] = api.calls;
      expect(first!.headers).to.include({ 'x-batch-validation': 'permissive' });
      expect(first!.headers['idempotency-key']).to.match(/^[0-9a-f]{64}$/);
      expect(second!.headers['idempotency-key']).not.to.equal(first!.headers['idempotency-key']);
    });

    it('one that is refused does not touch the others', async () => {
      api.reply = accept;
      const emails = emailsTo(10).map((email, index) =>
        index === 4 ? { ...email, recipients: [{ email: 'x@bad.example', name: '' }] } : email,
      );
      const outcomes = await sendAll(open(resend), RESEND, emails);
      expect(outcomes[4]).to.deep.include({ kind: 'rejected', code: 'CARRIER_422', message: 'invalid `to`' });
      expect(outcomes.filter(({ kind }) => kind === 'sent')).to.have.length(9);
      expect(outcomes.map((each) => 'providerMessageId' in each && each.providerMessageId)).to.deep.equal(
        Array.from({ length: 10 }, (_, index) => index !== 4 && `email ${index}`),
      );
    });

    it('if a call is refused as a whole, each is sent alone', async () => {
      api.reply = (call) =>
        call.path === '/emails/batch'
          ? { status: 422, body: { name: 'validation_error', message: 'no' } }
          : accept(call);
      const outcomes = await sendAll(open(resend), RESEND, emailsTo(4));
      expect(sizesOf(api.calls)).to.deep.equal([4, 1, 1, 1, 1]);
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['sent', 'sent', 'sent', 'sent']);
    });

    it('a lost response is asked for again, with the same key and emails', async () => {
      let times = 0;
      api.reply = (call) => {
        if (call.path !== '/emails/batch') return accept(call);
        times += 1;
        return times < 3 ? 'cut' : accept(call);
      };
      const outcomes = await sendAll(open(resend), RESEND, emailsTo(4));
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['sent', 'sent', 'sent', 'sent']);
      const [one, two, three] = api.calls;
      expect([two!.body, three!.body]).to.deep.equal([one!.body, one!.body]);
      expect(new Set([one, two, three].map((call) => call!.headers['idempotency-key'])).size).to.equal(1);
    });

    it('if it stays lost, all of the call are ambiguous, and say so', async () => {
      api.reply = (call) => (call.path === '/emails/batch' ? 'cut' : accept(call));
      for (const outcome of await sendAll(open(resend), RESEND, emailsTo(4))) {
        expect(outcome).to.include({ kind: 'retry', ambiguous: true, code: 'ECONNRESET' });
        expect(outcome).to.have.property('message').that.includes('as may 3 others of the same call');
        expect(outcome).to.have.property('message').that.does.not.include('no duplicate');
      }
    });

    it('a rate limit, or a refused key, is that of all', async () => {
      for (const [status, kind] of [
        [429, 'rate_limited'],
        [401, 'tenant_paused'],
      ] as const) {
        api.reply = (call) => (call.path === '/emails/batch' ? { status } : accept(call));
        const outcomes = await sendAll(open(resend), { ...RESEND, apikey: kind }, emailsTo(3));
        expect(outcomes.map((outcome) => outcome.kind)).to.deep.equal([kind, kind, kind]);
      }
    });

    it('large ones share a call up to 4 MB', async () => {
      api.reply = accept;
      const emails = emailsTo(5).map((email) => ({ ...email, html: 'x'.repeat(1_500_000) }));
      await sendAll(open(resend), RESEND, emails);
      expect(sizesOf(api.calls)).to.deep.equal([2, 2, 1]);
    });

    it('those with attachments go alone', async () => {
      api.reply = accept;
      const file = { filename: 'a.txt', mimetype: 'text/plain', size: 2, objectkey: 'a', base64: 'aGk=' };
      const emails = emailsTo(6).map((email, index) => (index === 3 ? { ...email, loaded: [file] } : email));
      await sendAll(open(resend), RESEND, emails);
      expect(sizesOf(api.calls)).to.deep.equal([3, 1, 2]);
    });

    it('one whose lease has passed to another worker is left out', async () => {
      api.reply = accept;
      const carrier = open(resend);
      let asked = 0;
      const outcomes = await Promise.all(
        emailsTo(5).map((email, index) =>
          carrier.send(email, {
            account: RESEND,
            deadlineMs: 5_000,
            mayStart: () => {
              asked += 1;
              return index !== 2;
            },
          }),
        ),
      );
      expect(asked).to.be.at.least(5);
      expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['sent', 'sent', 'fenced', 'sent', 'sent']);
      expect(api.calls.flatMap(subjectsOf).sort()).to.deep.equal([
        'email 0',
        'email 1',
        'email 3',
        'email 4',
      ]);
    });

    it('any other response than an id or an error for each leaves all of the call ambiguous', async () => {
      const ids = [
        [],
        ['a'],
        ['a', 'b'],
        ['a', 'b', 'c'],
        ['a', 'b', 'c', 'd'],
        ['a', 'a'],
        ['a', 'b', 'a'],
        ['a', ''],
        ['a', null],
        [1, 'b', 'c'],
      ];
      const places = [0, 1, 2, 3, -1, 1.5, '0', null, undefined];
      const pairs = places.flatMap((one) => places.map((other) => [one, other]));
      const lists = [
        [],
        ...places.map((place) => [place]),
        ...pairs,
        [0, 1, 2],
        [2, 1, 0],
        [1, 1, 1],
        [0, 1, 1],
      ];
      const bodies = ids.flatMap((given) =>
        lists.map((errors) => ({
          data: given.map((id) => ({ id })),
          errors: errors.map((index) => ({ index, message: 'no' })),
        })),
      );
      /** The only responses to three emails that tell, by what they tell of each. */
      const told = new Map<string, string>();
      for (const outcome of ['sss', 'rss', 'srs', 'ssr', 'rrs', 'rsr', 'srr', 'rrr']) {
        const errors = [0, 1, 2].filter((index) => outcome[index] === 'r');
        const data = ['a', 'b', 'c'].slice(0, 3 - errors.length);
        for (const order of [errors, errors.toReversed()]) told.set(JSON.stringify([data, order]), outcome);
      }
      api.reply = ({ headers }) => ({
        status: 200,
        headers: LIMITED,
        body: bodies[Number(headers.authorization?.replace('Bearer ', ''))],
      });
      const carrier = open(resend);
      await Promise.all(
        bodies.map(async ({ data, errors }, index) => {
          const outcomes = await sendAll(carrier, { ...RESEND, apikey: String(index) }, emailsTo(3), {
            deadlineMs: 60_000,
          });
          const given = JSON.stringify([data.map(({ id }) => id), errors.map((error) => error.index)]);
          expect(lettersOf(outcomes), given).to.equal(told.get(given) ?? '???');
        }),
      );
    });

    it('unless wanted, each goes alone, as far apart as the rate limit asks', async () => {
      api.reply = accept;
      const carrier = open(resend);
      const account = { ...RESEND, shareCalls: false };
      await sendAll(carrier, account, emailsTo(1));
      await sendAll(carrier, account, emailsTo(4));
      expect(sizesOf(api.calls)).to.deep.equal([1, 1, 1, 1, 1]);
      // The first one too, as soon as it has shown the limit.
      expect(reserved).to.have.length(5);
    });

    it('two tenants, or two accounts, never share a call', async () => {
      api.reply = accept;
      const carrier = open(resend);
      const [ours, theirs] = [emailsTo(20), emailsTo(20).map((email) => ({ ...email, tenantid: 8 }))];
      await Promise.all([
        sendAll(carrier, RESEND, ours),
        sendAll(carrier, RESEND, theirs),
        sendAll(carrier, { ...RESEND, apikey: 'other' }, ours),
      ]);
      for (const { body, headers } of api.calls) {
        const tenants = new Set(
          [JSON.parse(body.toString()) as ResendEmail]
            .flat()
            .map(({ tags }) => JSON.stringify(tags.find(({ name }) => name === 'tenantid'))),
        );
        expect(tenants.size).to.equal(1);
        expect(headers.authorization).to.match(/^Bearer (k|other)$/);
      }
      expect(sizesOf(api.calls).sort()).to.deep.equal([20, 20, 20]);
    });

    it('tells those that wait, once they are in one of the next two calls', async () => {
      let told = 0;
      const toldAtCalls: number[] = [];
      api.reply = (call) => {
        toldAtCalls.push(told);
        return accept(call);
      };
      await sendAll(open(resend), RESEND, emailsTo(500), { onWait: () => (told += 1) });
      expect(toldAtCalls).to.deep.equal([300, 400, 500, 500, 500]);
    });
  });

  describe('Postmark', () => {
    /** Accepts everything after 30 ms, except recipients of bad.example. */
    const accept = ({ path, body }: ApiCall): ApiResponse => {
      const given = [JSON.parse(body.toString()) as PostmarkEmail].flat();
      const items = given.map(({ To, Subject }) =>
        To.includes('bad.example')
          ? { ErrorCode: 406, Message: 'Found inactive addresses: x@bad.example.' }
          : { ErrorCode: 0, Message: 'OK', MessageID: Subject },
      );
      return { status: 200, body: path === '/email/batch' ? items : items[0] };
    };

    it('those that come while four calls are under way share the next one', async () => {
      api.reply = accept;
      const outcomes = await sendAll(open(postmark), POSTMARK, emailsTo(600));
      expect(sizesOf(api.calls)).to.deep.equal([1, 500, 99]);
      expect(reserved).to.deep.equal([]);
      expect(
        new Set(outcomes.map((each) => 'providerMessageId' in each && each.providerMessageId)).size,
      ).to.equal(600);
    });

    it('each has its own outcome', async () => {
      api.reply = accept;
      const emails = emailsTo(10).map((email, index) =>
        index === 4 ? { ...email, recipients: [{ email: 'x@bad.example', name: '' }] } : email,
      );
      const outcomes = await sendAll(open(postmark), POSTMARK, emails);
      expect(outcomes[4]).to.deep.include({ kind: 'rejected', code: 'RECIPIENT_REFUSED', httpStatus: 422 });
      expect(outcomes[4]).to.have.nested.property('refused.0.address', 'x@bad.example');
      expect(outcomes.filter(({ kind }) => kind === 'sent')).to.have.length(9);
    });

    it('a lost or unreadable response leaves all of the call ambiguous, without another call', async () => {
      for (const response of ['cut', { status: 200, body: '<html>' }, { status: 200, body: [] }] as const) {
        api.reply = (call) => (call.path === '/email/batch' ? response : accept(call));
        const before = api.calls.length;
        const [, ...others] = await sendAll(open(postmark), POSTMARK, emailsTo(4));
        expect(api.calls.length - before).to.equal(2);
        for (const outcome of others) expect(outcome).to.include({ kind: 'retry', ambiguous: true });
      }
    });
  });

  it('Postmark: only a list with a response of its own for each email tells what became of them', async () => {
    const sent = (id: unknown): object => ({ ErrorCode: 0, Message: 'OK', MessageID: id });
    const items: readonly (readonly [unknown, string])[] = [
      [sent('a'), 's'],
      [sent('b'), 's'],
      [sent('c'), 's'],
      [{ ErrorCode: 300, Message: 'no' }, 'r'],
      [sent(''), '?'],
      [sent(7), '?'],
      [{ ErrorCode: 0, Message: 'OK' }, '?'],
      [{ ErrorCode: '0', MessageID: 'd' }, '?'],
      [{ MessageID: 'e' }, '?'],
      [{}, '?'],
      [null, '?'],
    ];
    const ofTwo = items.flatMap((one) => items.map((other) => [one, other]));
    const lists = [[], ...items.map((item) => [item]), ...ofTwo, [items[0]!, items[1]!, items[2]!]];
    const cases = lists.map((list) => {
      const letters = list.map(([, letter]) => letter).join('');
      const isRepeated = list[0] === list[1] && letters === 'ss';
      return [list.map(([item]) => item), /^[sr]{2}$/.test(letters) && !isRepeated ? letters : '??'] as const;
    });
    api.reply = ({ path, headers }) => ({
      status: 200,
      body: path === '/email/batch' ? cases[Number(headers['x-postmark-server-token'])]?.[0] : sent('first'),
    });
    const carrier = open(postmark);
    await Promise.all(
      cases.map(async ([body, expected], index) => {
        const account = { ...POSTMARK, apikey: String(index) };
        const [first, ...others] = await sendAll(carrier, account, emailsTo(3), { deadlineMs: 60_000 });
        expect(first?.kind).to.equal('sent');
        expect(lettersOf(others), JSON.stringify(body)).to.equal(expected);
      }),
    );
  });

  it('an email that fails to become a request rejects, and holds nobody up', async () => {
    api.reply = () => ({ status: 200, body: { id: '1' } });
    const carrier = open(resend);
    const broken = { ...emailsTo(1)[0]!, recipients: null } as unknown as LoadedEmail;
    const [first, second, third] = emailsTo(3);
    const results = await Promise.allSettled(
      [first!, broken, second!, third!].map((email) =>
        carrier.send(email, { account: RESEND, deadlineMs: 5_000, mayStart: () => true }),
      ),
    );
    expect(results.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });
});

interface ResendEmail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
}
interface PostmarkEmail {
  readonly To: string;
  readonly Subject: string;
}

/** For each: sent, refused, or unknown. */
const lettersOf = (outcomes: readonly SendOutcome[]): string =>
  outcomes
    .map((outcome) => (outcome.kind === 'retry' && outcome.ambiguous ? '?' : outcome.kind.slice(0, 1)))
    .join('');

const subjectOf = (email: ResendEmail): string => email.subject;
const subjectsOf = ({ body }: ApiCall): string[] =>
  [JSON.parse(body.toString()) as ResendEmail].flat().map(subjectOf);

const emailsTo = (count: number): LoadedEmail[] =>
  Array.from({ length: count }, (_, index) => ({
    tenantid: 7,
    deliveryid: String(index),
    sender: { email: 'shop@example.com', name: 'Shop' },
    recipients: [{ email: `p${index}@example.com`, name: '' }],
    cc: [],
    bcc: [],
    subject: `email ${index}`,
    html: '<p>Hello</p>',
    messageId: `<${index}@example.com>`,
    idempotencyKey: `${index}@example.com`,
    loaded: [],
  }));
