import { expect } from 'chai';
import type { SmtpAccount } from '../../../../src/email/carriers/smtp/account.js';
import type { Carrier, LoadedEmail } from '../../../../src/email/carriers/carrier.js';
import type { SendContext, SendOutcome } from '../../../../src/email/carriers/sending.js';
import { smtp } from '../../../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../../../support/openCarrier.js';
import {
  startScriptedSmtp,
  type Command,
  type Script,
  type ScriptedSmtp,
} from '../../../support/scriptedSmtp.js';

const address = (name: string) => ({ email: `${name}@example.com`, name: '' });
const emailTo = (...names: readonly string[]): LoadedEmail => ({
  tenantid: 7,
  deliveryid: '42',
  sender: address('shop'),
  recipients: names.map(address),
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Hello</p>',
  loaded: [],
});
const TWELVE = Array.from({ length: 12 }, (_, index) => `r${index}`);
const allOf = (names: readonly string[]): readonly string[] => names.map((name) => address(name).email);

type Row = readonly [reply: string, outcome: Readonly<Record<string, unknown>>];
const rejected = (code: string) => ({ kind: 'rejected', code });
const paused = (code: string) => ({ kind: 'tenant_paused', code });
const retry = (code: string) => ({ kind: 'retry', ambiguous: false, code });

/** With pipelining, the library reports that the connection is closed, without the reply. */
const CLOSING = { kind: 'retry', ambiguous: false };

/** RFC 5321, 4.2; RFC 3463; RFC 1870; RFC 4954, 6; RFC 6531, 3.7.4; RFC 7504; RFC 7505. */
const TABLE: Readonly<Partial<Record<Command, readonly Row[]>>> = {
  CONNECT: [
    ['421 4.3.2 closing', CLOSING],
    ['521 5.3.2 no mail here', paused('SMTP_CONNECTION_REFUSED')],
    ['554 5.7.1 not from you', paused('SMTP_CONNECTION_REFUSED')],
    ['554', paused('SMTP_CONNECTION_REFUSED')],
  ],
  EHLO: [
    ['421 4.3.2 closing', CLOSING],
    ['550 5.7.1 not from you', paused('SMTP_CONNECTION_REFUSED')],
  ],
  AUTH: [
    ['454 4.7.0 later', retry('SMTP_454')],
    ['432 4.7.12 change the password', retry('SMTP_432')],
    ['535 5.7.8 wrong', paused('SMTP_LOGIN_REFUSED')],
    ['534 5.7.9 too weak', paused('SMTP_LOGIN_REFUSED')],
    ['538 5.7.11 encrypt', paused('SMTP_LOGIN_REFUSED')],
    ['550 5.1.1 who', paused('SMTP_LOGIN_REFUSED')],
  ],
  MAIL: [
    ['421 4.7.0 closing', CLOSING],
    ['450 4.1.8 domain not found', retry('SMTP_450')],
    ['452 4.3.1 disk full', retry('SMTP_452')],
    ['452', retry('SMTP_452')],
    ['530 5.7.0 log in first', paused('SMTP_LOGIN_REFUSED')],
    ['530', paused('SMTP_LOGIN_REFUSED')],
    ['550 5.1.0 refused', rejected('SENDER_REFUSED')],
    ['550', rejected('SENDER_REFUSED')],
    ['553 5.1.7 no address', rejected('SENDER_REFUSED')],
    ['553 5.1.8 no domain', rejected('SENDER_REFUSED')],
    ['552 5.2.2 over quota', rejected('SENDER_REFUSED')],
    ['550 5.7.27 null MX', rejected('SENDER_REFUSED')],
    ['550 5.7.1 not yours', rejected('SENDER_REFUSED')],
    ['550 5.7.60 SMTP; Client does not have permissions to send as this sender', rejected('SENDER_REFUSED')],
    ['552', rejected('EMAIL_TOO_LARGE')],
    ['552 5.3.4 too large', rejected('EMAIL_TOO_LARGE')],
    ['552 5.2.3 too large', rejected('EMAIL_TOO_LARGE')],
    ['550 5.6.7 ASCII only', rejected('ADDRESS_NOT_ASCII')],
  ],
  RCPT: [
    ['421 4.7.0 closing', CLOSING],
    ['450 4.2.1 busy', retry('SMTP_450')],
    ['451 4.7.1 greylisted', retry('SMTP_451')],
    ['452 4.2.2 full', retry('SMTP_452')],
    ['452 4.5.3 too many', retry('SMTP_452')],
    ['452', retry('SMTP_452')],
    ['552 5.5.3 too many', retry('SMTP_552')],
    ['552', rejected('RECIPIENT_REFUSED')],
    ['552 5.2.2 full', rejected('RECIPIENT_REFUSED')],
    ['550 5.2.1 disabled', rejected('RECIPIENT_REFUSED')],
    ['550 5.1.1 no such user', rejected('RECIPIENT_REFUSED')],
    ['551 5.1.6 moved', rejected('RECIPIENT_REFUSED')],
    ['553 5.1.3 no address', rejected('RECIPIENT_REFUSED')],
    ['556 5.1.10 null MX', rejected('RECIPIENT_REFUSED')],
    ['550 5.7.1 no relay', rejected('RECIPIENT_REFUSED')],
    ['550', rejected('RECIPIENT_REFUSED')],
    ['530 5.7.0 log in first', paused('SMTP_LOGIN_REFUSED')],
    ['553 5.1.8 no such sender', rejected('SENDER_REFUSED')],
    ['552 5.3.4 too large', rejected('EMAIL_TOO_LARGE')],
    ['550 5.5.3 too many', rejected('TOO_MANY_RECIPIENTS')],
    ['553 5.6.7 ASCII only', rejected('ADDRESS_NOT_ASCII')],
  ],
  DATA: [
    ['421 4.3.0 closing', CLOSING],
    ['451 4.3.0 later', retry('SMTP_451')],
    ['452 4.5.3 too many', retry('SMTP_452')],
    ['503 5.5.1 not now', rejected('SMTP_503')],
    ['554 5.5.1 no', rejected('SMTP_554')],
    ['552 5.5.3 too many', rejected('TOO_MANY_RECIPIENTS')],
    ['550 5.1.1 no such user', rejected('RECIPIENT_REFUSED')],
  ],
  MESSAGE: [
    ['421 4.3.0 closing', CLOSING],
    ['451 4.3.0 later', retry('SMTP_451')],
    ['452 4.3.1 disk full', retry('SMTP_452')],
    ['552', rejected('EMAIL_TOO_LARGE')],
    ['552 5.3.4 too large', rejected('EMAIL_TOO_LARGE')],
    ['552 5.2.3 too large', rejected('EMAIL_TOO_LARGE')],
    ['523 too long', rejected('EMAIL_TOO_LARGE')],
    ['552 5.7.0 forbidden attachment', rejected('SMTP_552')],
    ['552 5.3.1 disk full', rejected('SMTP_552')],
    ['552 5.2.2 full', rejected('RECIPIENT_REFUSED')],
    ['550 5.1.1 no such user', rejected('RECIPIENT_REFUSED')],
    ['550 5.1.8 no such sender', rejected('SENDER_REFUSED')],
    ['554 5.7.1 spam', rejected('SMTP_554')],
    ['554 5.2.252 SendAsDenied; a@b.example not allowed to send as c@d.example', rejected('SENDER_REFUSED')],
    ['550 5.7.60 SMTP; Client does not have permissions to send as this sender', rejected('SENDER_REFUSED')],
    ['554', rejected('SMTP_554')],
    ['530 5.7.0 log in first', paused('SMTP_LOGIN_REFUSED')],
  ],
};

/** As common servers and hosts say it, in their documentation or in public reports. */
const QUOTAS: readonly string[] = [
  '550 5.4.5 Daily user sending quota exceeded. o65sm25351206pga.71 - gsmtp',
  '550-5.4.5 Daily user sending limit exceeded. For more information on Gmail\r\n550-5.4.5 sending limits go to\r\n550 5.4.5 https://support.google.com/a/answer/166852 x - gsmtp',
  '550-5.7.1 Daily SMTP relay\r\n550 5.7.1 limit exceeded for customer.',
  '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; Failed to process message',
  "554 5.2.0 STOREDRV.Submission.Exception:QuotaExceeded; the sender's submission quota was exceeded.",
  "550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients",
  '550 User me@site.example has exceeded its 24-hour sending limit. Messages to 25 recipients out of 25 allowed have been sent.',
  '550 Domain site.example has exceeded the max emails per hour (150/150 (100%)) allowed. Message discarded.',
  '550 Domain site.example has exceeded the max defers and failures per hour (5/5 (100%)) allowed. Message discarded.',
  '554 5.7.0 Your message could not be sent. The limit on the number of allowed outgoing messages was exceeded. Try again later.',
  '550 Email account me@site.example is sending too many emails - rate overlimit = 83.6 / 1h',
  '550 User has exceeded outgoing email quota',
  '554 5.7.1 <a@example.com>: Recipient address rejected: You have exceeded your Outmail quota.',
  '550 send spam mail rejected: exceeded hour limit',
  '554 Mail send limit exceeded.',
  '454 Throttling failure: Daily message quota exceeded.',
  '450 4.7.1 <END-OF-MESSAGE>: End-of-data rejected: Number messages per hour exceeded. Error:RATE_MSG',
  '451 4.7.1 Hourly limit exceeded',
  '450 Domain site.example is not allowed to send: recipient limit exceeded, try again after Sun, 05 Oct 2025 19:22:44 UTC',
  '554 5.7.1 <DATA>: Data command rejected: limit of 400 rcpts per 24 hours for client me@site.example reached',
];
/** About a mailbox, a message, a rate of seconds, or nothing in particular. */
const NO_QUOTAS: readonly string[] = [
  '452 4.2.2 The email account that you tried to reach is over quota.',
  '552 5.2.2 The email account that you tried to reach is over quota and inactive.',
  '552 5.2.2 <a@example.com>: Quota exceeded (mailbox for user is full)',
  "554 5.2.2 mailbox full; user's mailbox has exceeded its storage limit",
  '554 5.2.122 The recipient has exceeded their limit for the number of messages they can receive per hour',
  '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
  "452 4.5.3 Your message has too many recipients. For more information regarding Google's sending limits, visit x",
  '452 4.5.3 Domain policy size per transaction exceeded, please try this recipient in a separate transaction.',
  "552 5.3.4 Your message exceeded Google's message size limits.",
  '552 5.3.4 Message exceeds the maximum send size limit',
  '550 5.2.3 RESOLVER.RST.SendSizeLimit.Sender; message too large for this sender',
  '554 5.4.14 Hop count exceeded - possible mail loop',
  '454 Throttling failure: Maximum sending rate exceeded.',
  '550 5.7.1 Our system has detected that this message is likely unsolicited mail sent to relay x',
];

for (const pipelining of [false, true]) {
  describe(`delivery: replies of SMTP servers ${pipelining ? 'with' : 'without'} pipelining`, () => {
    let server: ScriptedSmtp;
    let carrier: Carrier<SmtpAccount>;
    before(async () => {
      server = await startScriptedSmtp({ pipelining });
    });
    after(() => server.stop());
    beforeEach(() => {
      carrier = openCarrier(smtp);
    });
    afterEach(() => carrier.close());

    const send = (names: readonly string[], script: Script, context: Partial<SendContext> = {}) => {
      server.script = script;
      const account: SmtpAccount = {
        kind: 'smtp',
        host: '127.0.0.1',
        port: server.port,
        security: 'none',
        verifyCertificate: true,
        maxConnections: 1,
        username: 'shop',
        password: 'secret',
      };
      return carrier.send(emailTo(...names), {
        deadlineMs: 5_000,
        mayStart: () => true,
        ...context,
        account,
      });
    };
    const refusedBy = (outcome: SendOutcome): readonly string[] =>
      'refused' in outcome ? (outcome.refused ?? []).map((each) => each.address) : [];
    /** Sends, and returns the outcome with the recipients of each transaction that the server has accepted. */
    const sendAll = async (...args: Parameters<typeof send>) => {
      const before = server.taken.length;
      const outcome = await send(...args);
      return { outcome, taken: server.taken.slice(before) };
    };

    for (const [command, rows] of Object.entries(TABLE)) {
      for (const [reply, expected] of rows) {
        it(`${command}: ${reply} → ${JSON.stringify(expected)}`, async () => {
          const { outcome, taken } = await sendAll(['ada'], (step) =>
            step.command === command ? reply : undefined,
          );
          expect(outcome).to.include(expected);
          expect(taken).to.deep.equal([]);
          // Whoever is refused by name has an event.
          const isNamed = expected['code'] === 'RECIPIENT_REFUSED';
          if (isNamed) expect(refusedBy(outcome)).to.deep.equal(allOf(['ada']));
          else if (command !== 'RCPT') expect(refusedBy(outcome)).to.deep.equal([]);
        });
      }
    }

    for (const reply of QUOTAS) {
      it(`the account waits, and nobody is refused: ${JSON.stringify(reply).slice(0, 80)}`, async () => {
        for (const command of ['MAIL', 'RCPT', 'DATA', 'MESSAGE'] as const) {
          const script: Script = (step) => (step.command === command ? reply : undefined);
          const { outcome, taken } = await sendAll(['ada', 'bob'], script);
          expect(outcome, command).to.include({ kind: 'rate_limited', waitMs: 900_000 });
          expect(taken).to.deep.equal([]);
        }
      });
    }

    for (const reply of NO_QUOTAS) {
      it(`the account does not wait: ${JSON.stringify(reply).slice(0, 80)}`, async () => {
        for (const command of ['MAIL', 'RCPT', 'DATA', 'MESSAGE'] as const)
          expect(
            await send(['ada'], (step) => (step.command === command ? reply : undefined)),
            command,
          ).to.include({ kind: reply.startsWith('4') ? 'retry' : 'rejected' });
      });
    }

    it('a quota that ends among the recipients has the email wait for all', async () => {
      const script: Script = ({ command, address: to }) =>
        command === 'RCPT' && to.startsWith('bob') ? QUOTAS[0] : undefined;
      const { outcome, taken } = await sendAll(['ada', 'bob', 'carl'], script);
      expect(outcome).to.include({ kind: 'rate_limited' });
      expect(taken).to.deep.equal([]);
    });

    it('a quota that ends after the first transaction has it sent again, for that reason', async () => {
      const before = server.taken.length;
      const script: Script = ({ command, accepted }) => {
        if (command !== 'RCPT') return undefined;
        return server.taken.length > before ? QUOTAS[0] : accepted.length >= 5 ? '452 4.5.3 x' : undefined;
      };
      const outcome = await send(TWELVE, script);
      expect(outcome).to.include({ kind: 'retry', ambiguous: true, code: 'SMTP_550' });
      expect('message' in outcome && outcome.message).to.match(/quota is used up/);
    });

    it('a mailbox that is gone is told from one that is full, and from one of several', async () => {
      const goneAt = (command: Command, names: readonly string[], reply: string) =>
        send(names, (step) => (step.command === command ? reply : undefined));
      const isGone = (outcome: SendOutcome) =>
        'refused' in outcome ? outcome.refused[0]!.isGone : undefined;
      expect(isGone(await goneAt('RCPT', ['ada'], '550 5.1.1 gone'))).to.equal(true);
      expect(isGone(await goneAt('MESSAGE', ['ada'], '550 5.1.1 gone'))).to.equal(true);
      expect(isGone(await goneAt('RCPT', ['ada'], '552 5.2.2 full'))).to.equal(false);
      // Which of them the reply is about is not known.
      expect(isGone(await goneAt('MESSAGE', ['ada', 'bob'], '550 5.1.1 gone'))).to.equal(false);
    });

    it('of several recipients, one that is refused for now has the email tried again for all', async () => {
      for (const order of [
        ['550 5.1.1 no', '450 4.2.1 busy'],
        ['450 4.2.1 busy', '550 5.1.1 no'],
      ]) {
        const script: Script = ({ command, address: to }) =>
          command === 'RCPT' ? order[to.startsWith('ada') ? 0 : 1] : undefined;
        expect(await send(['ada', 'bob'], script)).to.include(retry('SMTP_450'));
      }
    });

    it('at the last attempt, those who are accepted get it', async () => {
      const script: Script = ({ command, address: to }) =>
        command === 'RCPT' && to.startsWith('bob') ? '452 4.2.2 full' : undefined;
      const { outcome, taken } = await sendAll(['ada', 'bob', 'carl'], script, {
        mayRetry: false,
        mayRepeat: false,
      });
      expect(outcome).to.include({ kind: 'sent' });
      expect(taken).to.deep.equal([allOf(['ada', 'carl'])]);
      expect(refusedBy(outcome)).to.deep.equal(allOf(['bob']));
    });

    describe('more recipients than it takes at once', () => {
      /** After so many accepted ones, each gets this reply. */
      const limit =
        (most: number, reply: string): Script =>
        ({ command, accepted }) =>
          command === 'RCPT' && accepted.length >= most ? reply : undefined;

      for (const reply of [
        '452 4.5.3 too many',
        '452 too many',
        '452',
        '552 5.5.3 too many',
        '552 too many',
        '550 5.5.3 x',
      ]) {
        for (const most of [1, 5, 10, 11]) {
          it(`${reply} after ${most} of 12: everybody gets it once`, async () => {
            const { outcome, taken } = await sendAll(TWELVE, limit(most, reply));
            expect(outcome).to.include({ kind: 'sent' });
            expect(refusedBy(outcome)).to.deep.equal([]);
            expect(taken.flat()).to.deep.equal(allOf(TWELVE));
            expect(taken).to.have.length(Math.ceil(12 / most));
          });
        }
      }

      it('and over one connection', async () => {
        const script: Script = (step) =>
          step.command === 'RCPT' && (step.completed > 0 || step.accepted.length >= 5)
            ? '452 4.5.3 x'
            : undefined;
        const { outcome, taken } = await sendAll(TWELVE, script);
        expect(outcome).to.include({ kind: 'sent' });
        expect(taken.flat()).to.deep.equal(allOf(TWELVE));
      });

      it('and closes the connection after each', async () => {
        const script: Script = (step) =>
          step.command === 'MAIL' && step.completed > 0 ? 'cut' : limit(5, '452 4.5.3 x')(step);
        const { outcome, taken } = await sendAll(TWELVE, script);
        expect(outcome).to.include({ kind: 'sent' });
        expect(taken.flat()).to.deep.equal(allOf(TWELVE));
      });

      it('a full mailbox among the others is none of these', async () => {
        for (const reply of ['552 5.2.2 full', '552 full', '552']) {
          const script: Script = ({ command, address: to }) =>
            command === 'RCPT' && to.startsWith('r3@') ? reply : undefined;
          const { outcome, taken } = await sendAll(TWELVE, script);
          expect(outcome, reply).to.include({ kind: 'sent' });
          expect(refusedBy(outcome), reply).to.deep.equal(allOf(['r3']));
          expect(taken.flat(), reply).to.have.length(11);
        }
      });

      it('a full mailbox behind the last that was accepted is refused in a transaction of its own', async () => {
        const script: Script = ({ command, address: to }) =>
          command === 'RCPT' && to.startsWith('r11@') ? '552 full' : undefined;
        const { outcome, taken } = await sendAll(TWELVE, script);
        expect(outcome).to.include({ kind: 'sent' });
        expect(refusedBy(outcome)).to.deep.equal(allOf(['r11']));
        expect(taken.flat()).to.have.length(11);
      });

      it('and refuses the email instead', async () => {
        const script: Script = (step) =>
          step.command === 'DATA' ? '503 5.5.1 x' : limit(10, '452 4.5.3 x')(step);
        expect(await send(TWELVE, script)).to.include(rejected('TOO_MANY_RECIPIENTS'));
      });

      /** What happens in the second transaction. */
      const second: readonly (readonly [Command, string, isCertain: boolean])[] = [
        ['MAIL', '451 4.3.0 later', false],
        ['MAIL', '550 5.7.1 no', true],
        ['RCPT', '451 4.7.1 later', false],
        ['RCPT', '550 5.1.1 no', true],
        ['DATA', '451 4.3.0 later', false],
        ['DATA', '554 5.7.1 no', true],
        ['DATA', 'cut', false],
        ['MESSAGE', '451 4.3.0 later', false],
        ['MESSAGE', '554 5.7.1 no', true],
        ['MESSAGE', 'cut', false],
      ];
      for (const [command, reply, isCertain] of second) {
        const script: Script = (step) => {
          const hasSent = server.taken.length > beforeSecond;
          return hasSent && step.command === command ? reply : limit(10, '452 4.5.3 x')(step);
        };
        let beforeSecond = 0;
        it(`the second transaction meets ${command}: ${reply}: ${isCertain ? 'events' : 'a possible duplicate'} on record`, async () => {
          beforeSecond = server.taken.length;
          const { outcome, taken } = await sendAll(TWELVE, script);
          expect(taken.flat()).to.deep.equal(allOf(TWELVE.slice(0, 10)));
          if (isCertain) {
            expect(outcome).to.include({ kind: 'sent' });
            expect(refusedBy(outcome)).to.deep.equal(allOf(TWELVE.slice(10)));
          } else expect(outcome).to.include({ kind: 'retry', ambiguous: true });
          // Where no second email is allowed, those who did not get it are on record.
          beforeSecond = server.taken.length;
          const last = await sendAll(TWELVE, script, { mayRepeat: false });
          expect(last.outcome).to.include({ kind: 'sent' });
          expect(refusedBy(last.outcome)).to.deep.equal(allOf(TWELVE.slice(10)));
        });
      }
    });
  });
}
