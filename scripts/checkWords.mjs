// One word per thing (CONTRIBUTING.md, "Words"): fails for a word that has a better one, in code, comments, messages and docs.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const FOLDERS = ['src', 'packages', 'docs', 'assets', 'README.md', 'CHANGELOG.md', '.env.example'];
const TEXT = /\.(ts|js|mjs|cjs|md|liquid|css|html|example)$/;

/** Names of other software, of standards, and of our own API, which are fixed. */
const FIXED = new RegExp(
  [
    String.raw`@?sendgrid/mail|v3/mail/\w+|[Nn]odemailer|createTransport|ParsedMail|mail-composer|MailComposer|MailService|X-Mailer|MAIL FROM`,
    String.raw`\bmail\.[a-z.]*example[a-z.]*|MailFromDomainNotVerifiedException|report\['mail'\]|sendMail|/mail\|name\|login\|`,
    String.raw`sent_mail|mailid|MAIL_TRANSPORT|mailTransport|set_email_transport|email_transports?\b|email_transportInput`,
    String.raw`emailTransport\b|emailTransportInput|EMAIL_TRANSPORT_REFUSED|\btransports\b|[sS]trictTransportSecurity|Strict-Transport-Security`,
    String.raw`oidc_provider\w*|OIDC_PROVIDER\w*|provider_message_id|providerMessageId|provider_event_id|providerEventId|TracerProvider|locale-provider`,
    String.raw`nextTick`,
  ].join('|'),
  'g',
);

/** What is wrong, and what to write. A word is found alone, and as a part of a camelCase or UPPER_CASE name. */
const WORDS = [
  [part('mails?'), 'email'],
  [/\b(German|English) letters?\b/, 'email'],
  [part('transports?'), 'carrier, or account'],
  [part('visitors?'), 'anonymous client'],
  [/isNobody|NOBODY|nobody[A-Z]/, 'anonymous'],
  [part('answer(s|ed)?|unanswered'), 'response, respond'],
  [/\bask[A-Z]\w*|\basked(By|At)\w*/, 'request, query'],
  [part('tick(s|ed)?'), 'poll'],
  [/\b(LOOK|#?looks?)_?(MS|At)\w*|#look\b|isLooking/, 'poll'],
  [part('judge[ds]?|judge?ments?'), 'evaluate, check'],
  [/trying on|\bput off\b/, 'retrying'],
  [part('gates?'), 'limiter'],
  [/Room\b|[a-z]Room[A-Z]/, 'quota, memory'],
  [/\bwalls?\b(?!-clock| clock)/, 'isolation, layer of isolation'],
  [/\bbr(eak|oke)(s|n)? ?off\b|breaking_off|breakOff/, 'abort'],
  [/\b(began|begun)(At)?(Ms)?(?=\b)(?<=Ms|At)/, 'startedAtMs'],
  [/\b[A-Z][a-z]+Terms\b/, 'Options'],
  [/\bstrikes?\b|\bstruck\b/, 'fault, kill'],
  [
    /ehaviour|\bcolour|honour|favour|(?:recogn|normal|organ|serial|initial|author|optim|synchron)is(?:e[ds]?|ing|ation)\b|cancelled(?!_)|\blabelled(?!by)|modelled|\blicence/i,
    'the American spelling',
  ],
  [/does not answer|answers again/, 'is not responding, has recovered'],
];

/** A part of a name: `mail` in `sendMail`, `MAIL_SIZE`, `a mail`, not in `mailbox`. */
function part(word) {
  const upper = word.toUpperCase();
  const title = word.replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return new RegExp(
    `(?<![A-Za-z])(?:${word})(?![a-z])|(?<![A-Z])(?:${title})(?![a-z])|(?<![A-Z])(?:${upper})(?![A-Za-z])`,
  );
}

const files = execFileSync('git', ['ls-files', '--', ...FOLDERS], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file));
let found = 0;
for (const file of files) {
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((line, index) => {
      const text = line.replaceAll(FIXED, '');
      for (const [pattern, better] of WORDS) {
        const match = pattern.exec(text);
        if (!match) continue;
        found += 1;
        console.error(`${file}:${index + 1}: "${match[0]}": write ${better}`);
      }
    });
}
if (files.length < 500) throw new Error(`only ${files.length} files were read`);
if (found > 0) process.exit(1);
console.log(`one word per thing in ${files.length} files`);
