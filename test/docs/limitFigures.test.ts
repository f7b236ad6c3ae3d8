import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CONSTANTS } from '../../src/config/constants.js';
import { EMAIL_RULE_QUOTA } from '../../src/control/email/checkEmailRule.js';
import { POLICY_RULE_QUOTA } from '../../src/control/objects/policyRule.js';
import { ROLE_LIMITS } from '../../src/graphql/document/limits.js';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** A constant of a source file, or a member of one. @param name as in `MAX_DRAFTS.ofRole` */
function figure(file: string, name: string): number {
  const [constant = '', member] = name.split('.');
  const text = read(`src/${file}`);
  const declared = new RegExp(`const ${constant}(?:: [^=]+)? = ([^;]+);`).exec(text)?.[1];
  const written = member ? new RegExp(`\\b${member}: ([\\d_]+)`).exec(declared ?? '')?.[1] : declared;
  if (!/^[\d_]+( \* [\d_]+)*$/.test(written ?? ''))
    throw new Error(`src/${file} has no figure ${name}: ${written}`);
  return written!.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}

/** Of a column of a control object. */
function charactersOf(file: string, column: string): number {
  const declared = new RegExp(`^    ${column}: \\{.*?^      maxCharacters: (\\w+),`, 'ms').exec(
    read(`src/${file}`),
  );
  const written = declared?.[1] ?? '';
  return /^\d/.test(written) ? Number(written.replaceAll('_', '')) : figure(file, written);
}

const KIB = 1_024;
const ANONYMOUS = 'graphql/document/limits.ts';
const CONFIG = 'control/objects/oidcConfig.ts';
const PROVISIONING = 'control/objects/oidcProvisioning.ts';
const DRAFTS = 'control/email/emailTypeHistory.ts';

/** By what a row begins with: its figures, in their order. */
const ROWS: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  Requests: {
    'tokens of a document': [ROLE_LIMITS.tokens, figure(ANONYMOUS, 'ANONYMOUS_LIMITS.tokens')],
    'lines of a document': [figure('graphql/document/limits.ts', 'MAX_LINES')],
    'fields of a document': [ROLE_LIMITS.fields, figure(ANONYMOUS, 'ANONYMOUS_LIMITS.fields')],
    'parts of the filters of a request': [
      figure('graphql/read/requestFilters.ts', 'MAX_PARTS'),
      figure('graphql/read/requestFilters.ts', 'MAX_PARTS_OF_FIELD'),
    ],
    'statements of a request': [
      figure('graphql/plan/planOperation.ts', 'MAX_PLAN_BYTES') / 1_000_000,
      figure('db/pool/compiledStatement.ts', 'BYTES_OF_SLOT'),
    ],
    'fragments of a document': [figure('graphql/document/limits.ts', 'MAX_FRAGMENTS')],
    'nesting of selections': [ROLE_LIMITS.depth],
    'nesting of variables': [figure('graphql/document/variables.ts', 'MAX_LEVELS')],
    'rows of a list': [CONSTANTS.listDefaultLimit],
    body: [
      figure('api/auth/readSignIn.ts', 'MAX_SIGN_IN_BYTES') / KIB,
      figure('email/carriers/sendgrid/reports.ts', 'MAX_BODY_BYTES') / KIB / KIB,
      figure('email/carriers/reports/webhook.ts', 'MAX_REPORT_BYTES') / KIB,
    ],
    response: [figure('control/request/introspection.ts', 'MAX_INTROSPECTION_CHARACTERS') / KIB / KIB],
    'mutations of a request to `/roles_pbac`': [figure('control/request/documentLimits.ts', 'MAX_MUTATIONS')],
    'objects and lists that their responses lead to': [
      figure('control/controlEngine.ts', 'MAX_RELATED_READS'),
    ],
    'fields of `Utility` in a request': [figure('control/request/documentLimits.ts', 'MAX_UTILITIES')],
    'patterns in each list of `set_captures`': [
      figure('control/utility/captureTables.ts', 'MAX_PATTERNS'),
      figure('control/utility/captureTables.ts', 'MAX_PATTERN_CHARACTERS'),
    ],
    'values in the lists of a response': [figure('control/request/documentLimits.ts', 'MAX_LISTED_VALUES')],
    'passwords set by a request': [figure('control/request/passwordHashes.ts', 'MAX_PASSWORDS')],
    'requests of a connection': [figure('api/http/serializePerConnection.ts', 'MAX_WAITING')],
  },
  'Objects of a tenant': {
    'policy rules': [POLICY_RULE_QUOTA.maxRows, POLICY_RULE_QUOTA.maxCharacters],
    'email rules': [EMAIL_RULE_QUOTA.maxRows, EMAIL_RULE_QUOTA.maxCharacters],
    'role classes': [figure('control/roles/classMembers.ts', 'MAX_CLASSES')],
    'characters of the name of a role or class': [
      figure('control/roles/rolePermissions.ts', 'MAX_NAME_CHARACTERS'),
      figure('control/roles/signUp.ts', 'MAX_NAME_CHARACTERS'),
    ],
    'configurations of identity providers': [
      figure('control/oidc/oidcRegistration.ts', 'MAX_CONFIGS'),
      figure(PROVISIONING, 'MAX_GROUPS'),
    ],
    'characters of a configuration and its provisioning': [
      charactersOf(CONFIG, 'client_id'),
      charactersOf(CONFIG, 'client_secret'),
      figure(PROVISIONING, 'MAX_PATH_CHARACTERS'),
      figure(PROVISIONING, 'MAX_VALUE_CHARACTERS'),
      figure('control/oidc/checkProvisioning.ts', 'MAX_DOMAINS'),
    ],
    'queries of an email type': [figure('control/email/emailTypeParts.ts', 'MAX_QUERIES')],
    'recipients, `cc`, `bcc` and attachments of an email type': [
      figure('control/email/addresses.ts', 'MAX_ITEMS'),
    ],
    layouts: [
      figure('control/email/checkEmailLayout.ts', 'MAX_LAYOUTS'),
      figure('control/email/checkEmailLayout.ts', 'MAX_LAYOUT_CHARACTERS'),
    ],
    'drafts of email types': [
      figure(DRAFTS, 'MAX_DRAFTS.ofTenant'),
      figure(DRAFTS, 'MAX_DRAFTS.ofRole'),
      figure(DRAFTS, 'MAX_DRAFTS.bytes'),
    ],
    'versions of an email type': [figure(DRAFTS, 'MAX_VERSIONS')],
    carriers: [figure('control/email/accountInput.ts', 'MAX_ACCOUNTS')],
    'email types that an address is unsubscribed from': [
      figure('control/email/unsubscribed.ts', 'MAX_EMAIL_TYPES'),
    ],
  },
};

describe('docs/reference/limits.md', () => {
  const page = read('docs/reference/limits.md');

  for (const [heading, rows] of Object.entries(ROWS)) {
    it(`has the figures of the code under "${heading}", and no others`, () => {
      const [, section = ''] = page.split(`\n## ${heading}\n`);
      const shown = section
        .split('\n## ')[0]!
        .split('\n')
        .filter((line) => /^\| [^|-]/.test(line) && !line.startsWith('| |'))
        .map((line) => line.split('|').map((cell) => cell.trim()))
        .map(([, what = '', limit = '']) => ({
          what,
          figures: (limit.match(/\d[\d,]*/g) ?? []).map((text) => Number(text.replaceAll(',', ''))),
        }));
      expect(shown).to.have.lengthOf(Object.keys(rows).length);
      for (const [begin, figures] of Object.entries(rows)) {
        const found = shown.find(({ what }) => what.startsWith(begin));
        expect(found?.figures, begin).to.deep.equal(figures);
      }
    });
  }

  it('is not all: other pages have figures, too', () => {
    const login = figure('control/roles/signUp.ts', 'MAX_LOGIN_CHARACTERS');
    expect(read('docs/how-to/sign-up.md').replaceAll(/\s+/g, ' ')).to.include(
      `more than ${login} characters`,
    );
  });

  it('is matched by what pages say of API keys, forgotten passwords, searches and exports', () => {
    const [kept, made] = [
      figure('db/roles/insertApiKey.ts', 'MAX_EXPIRED_KEYS'),
      figure('db/roles/apiKeys.ts', 'MAX_API_KEYS'),
    ];
    const [ofRole, ofTenant] = [
      figure('control/roles/forgottenPassword.ts', 'MAX_OF_ROLE'),
      figure('control/roles/forgottenPassword.ts', 'MAX_OF_TENANT'),
    ];
    const ofAddress = figure('api/auth/signInLimits.ts', 'RESETS_PER_ADDRESS');
    const exported = figure('api/console/exportPages.ts', 'MAX_EXPORTED').toLocaleString('en');
    expect(ofRole).to.equal(3);
    for (const [file, text] of [
      ['limits', `| ${made} that have not expired; the latest ${kept} that have,`],
      [
        '../explanation/security',
        `A tenant sends ${ofTenant} an hour, and an address asks ${ofAddress} times`,
      ],
      ['../how-to/console', `the list has for you, at most ${exported}`],
    ] as const)
      expect(read(`docs/reference/${file}.md`).replaceAll(/\s+/g, ' '), file).to.include(text);
  });

  it('says that scopes, names and logins of a provisioning have as many characters', () => {
    expect(charactersOf(PROVISIONING, 'scope')).to.equal(charactersOf(CONFIG, 'client_id'));
    for (const column of ['name', 'login'])
      expect(charactersOf(PROVISIONING, column), column).to.equal(charactersOf(CONFIG, 'client_secret'));
  });
});
