import { activityOf } from './activityOf.js';
import { Router } from 'express';
import type { Config } from '../../config/config.js';
import { OPERATIONS } from '../../control/email/checkEmailRule.js';
import { WORDING } from '../../control/email/wording.js';
import { requireTenantAdmin } from '../../control/permissions.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { keyText, readChoices, readReadableTables, readRecentRows } from './choices.js';
import { linkTo } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { EMAILS } from './emailListPage.js';
import {
  changesOf,
  draftOf,
  DRAFT_ARGS,
  DRAFT_PASSED,
  EMAIL_FIELDS,
  EMAIL_SELECTION,
  fieldOf,
  PROBLEM,
  readAbout,
  readTexts,
  textsOf,
  toProblem,
  withWordingOf,
  type Problem,
} from './emailForm.js';
import { MAX_EMAIL_FORM_BYTES } from './emailPreview.js';
import { formProblems, type FieldWords, type FormProblem } from './formProblems.js';
import { problemOf, textOf, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { queryBlocks } from './queryBlocks.js';
import { startEmail } from './startEmail.js';
import { findPlaceholders, findStarter, STARTERS } from './starters.js';
import { HAPPENS } from './words.js';

const ONE = `query ($filter: String) { email_types(filter: $filter, limit: 1) { ${EMAIL_SELECTION} version } }`;
/** Only admins see rules. */
const SENT = `query ($sentAs: String) {
  email_rule(filter: $sentAs, limit: 1) { email_type operations targets query_roleid }
  email_delivery(filter: $sentAs, ordering: ["deliveryid desc"], limit: 1) { target key operation }
}`;
const TEST = `mutation (${DRAFT_ARGS}, $to: String!) {
  Utility { send_test_email(${DRAFT_PASSED}, to: $to) { sent error { ${PROBLEM} } } }
}`;
const CHECK = `query ($type: ID!, $target: String) { Utility { check_email(email_type: $type, target: $target) { ${PROBLEM} } } }`;
const VERSION = `query ($filter: String) {
  email_type_version(filter: $filter, limit: 1) { content }
}`;
const SAVE_DRAFT =
  'mutation ($type: ID!, $input: email_typesInput) { Utility { save_email_draft(email_type: $type, input: $input) } }';
const CREATE = 'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }';
const UPDATE =
  'mutation ($type: ID!, $input: email_typesInput) { update_email_type(email_type: $type, input: $input) { email_type } }';
const DELETE = 'mutation ($type: ID!) { delete_email_type(email_type: $type) { email_type } }';

/** Pages to write the tenant's email types, preview them with a real row, and send tests. */
export function emailPages({ page, form }: PageHandlers, mailTransport: Config['mailTransport']): Router {
  const edit = page(async (visit, req) => {
    const type = textOf(req.query, 'type');
    const copy = textOf(req.query, 'copy');
    const isDraft = req.query['version'] === '0';
    if (type === '') requireTenantAdmin(visit.session.principal);
    const found = await readType(visit, type === '' ? copy : type, isDraft);
    const starter = type === '' && copy === '' ? findStarter(req.query['starter']) : undefined;
    const version = await readVersion(visit.query, type, textOf(req.query, 'version'));
    const start = starter && (await startEmail(visit.query, starter, req.query));
    const texts = version
      ? withWordingOf(visit, found?.texts, version)
      : (found?.texts ?? textsOf(start?.input ?? {}));
    const about = { ...found?.about, ...givenOf(readAbout(req.query)), ...start?.about };
    const warnings = type === '' || !found ? [] : await checkType(visit.query, type, about);
    await showForm(visit, {
      saved: found ? type : '',
      version: type === '' ? '' : (found?.version ?? ''),
      texts: copy === '' ? texts : { ...texts, email_type: '' },
      about,
      warnings: [...warnings, ...findPlaceholders(texts['template'] ?? '')],
      starter: starter?.name ?? '',
      fitting: start?.fitting,
      to: addressOf(visit),
      isDraft,
      activity:
        type === '' || !found || !visit.may.viewDeliveries
          ? undefined
          : await activityOf(visit.query, 'email_types', type),
      ...noticeOf(req.query, found?.version),
    });
  });

  const submit = form(
    async (visit, _req, res) => {
      const { values, query } = visit;
      const saved = textOf(values, 'saved');
      const version = textOf(values, 'version');
      const written = readTexts(values);
      const texts = visit.isAdmin
        ? written
        : withWordingOf(visit, (await readType(visit, saved, false))?.texts, written);
      const shown: FormState = {
        saved,
        version,
        texts,
        about: readAbout(values),
        starter: textOf(values, 'starter'),
        to: textOf(values, 'to'),
        isUnsaved: true,
      };
      try {
        if (values['action'] === 'delete') {
          await query(DELETE, { type: saved });
          res.redirect(303, `${EMAILS}?done=deleted`);
        } else if (values['action'] === 'draft') {
          const name = textOf(values, 'email_type');
          await query(SAVE_DRAFT, { type: saved === '' ? name : saved, input: changesOf(visit, texts) });
          await showForm(visit, {
            ...shown,
            isUnsaved: false,
            notice: 'The draft is kept. What is live stays as it is.',
          });
        } else if (values['action'] === 'test') {
          const to = textOf(values, 'to');
          const { Utility } = await query<{ Utility: { send_test_email: { error: Problem | null } } }>(TEST, {
            ...draftOf(visit),
            to,
          });
          const { error } = Utility.send_test_email;
          await showForm(visit, {
            ...shown,
            ...(error
              ? { problem: error }
              : { notice: `Sent to ${to}.`, isInMailbox: mailTransport === 'mailbox' }),
          });
        } else {
          const input = {
            ...changesOf(visit, texts),
            ...(version === '' ? {} : { based_on: Number(version) }),
          };
          await query(saved === '' ? CREATE : UPDATE, { input, ...(saved === '' ? {} : { type: saved }) });
          const shownNext = { type: texts['email_type'] ?? '', done: 'saved', ...readAbout(values) };
          res.redirect(303, linkTo(`${EMAILS}/edit`, shownNext));
        }
      } catch (thrown) {
        const error = problemOf(thrown);
        const isOld = error.code === 'EMAIL_TYPE_CHANGED';
        // The input is kept: after checking the other version, it can be saved over it.
        const known = isOld ? { version: String(error.details['version'] ?? '') } : {};
        const all = isOld ? [] : formProblems(error, WORDS);
        const [first] = all;
        const problem = isOld
          ? { message: CHANGED, hint: null }
          : { ...toProblem(error), ...(first && { message: first.message, hint: first.hint }) };
        const problems = all.length > 1 ? all : [];
        await showForm(visit, { ...shown, ...known, problem, problems, isOld }, error.status);
      }
    },
    { limitBytes: MAX_EMAIL_FORM_BYTES },
  );

  const gallery = page(async (visit) => {
    requireTenantAdmin(visit.session.principal);
    await visit.show('starters', { title: 'New email', starters: STARTERS });
  });

  return Router().get(`${EMAILS}/new`, gallery).get(`${EMAILS}/edit`, edit).post(`${EMAILS}/edit`, submit);
}

/** What the form calls its fields. */
const WORDS: Readonly<Record<string, FieldWords>> = {
  ...Object.fromEntries(EMAIL_FIELDS.map(({ name, label }) => [name, { label }])),
  email_type: {
    label: 'Name',
    missing: 'Give the email a name.',
    taken: 'There is already an email with this name.',
  },
  subject: { label: 'Subject', missing: 'Write a subject.' },
  sender: { label: 'From', missing: 'Say who sends it, as in Shop <shop@example.com>.' },
  recipients: { label: 'To', missing: 'Say who gets it.' },
  template: { label: 'Template (HTML)', missing: 'Write the email.' },
  to: { label: 'Send a test to', missing: 'Enter one address for the test.' },
};

const CHANGED = 'This email was saved by another user after you opened it.';

interface FormState {
  /** What was sent of it. */
  readonly activity?: object | undefined;
  /** The name under which the email is saved; empty for a new one. */
  readonly saved: string;
  /** The version that was opened. */
  readonly version: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly about: Values;
  /** The starter of a new email; its sample is shown until a table is chosen. */
  readonly starter?: string;
  /** The columns that the starter was fitted to. */
  readonly fitting?: object | undefined;
  /** Whom a test goes to. */
  readonly to?: string;
  /** Whether the form shows the draft, which is not live. */
  readonly isDraft?: boolean;
  readonly problem?: Problem;
  /** Several problems at once. */
  readonly problems?: readonly FormProblem[];
  /** Whether the form shows what is not saved. */
  readonly isUnsaved?: boolean;
  readonly warnings?: readonly Problem[];
  readonly isOld?: boolean;
  /** Whether a test went to the installation's mailbox. */
  readonly isInMailbox?: boolean;
  readonly notice?: string;
  /** Whether the notice says that what is shown is not live. */
  readonly isNotLive?: boolean;
}

/** The user's own address, if the login is one. */
function addressOf({ session }: Visit): string {
  const { login } = session.principal;
  return login?.includes('@') === true ? login : '';
}

/** The texts of a version, or of a draft. */
async function readVersion(
  query: Visit['query'],
  type: string,
  version: string,
): Promise<Record<string, string> | undefined> {
  if (type === '' || !/^\d{1,9}$/.test(version)) return undefined;
  const { email_type_version } = await query<{ email_type_version: readonly { content: Values }[] }>(
    VERSION,
    {
      filter: `email_type = ${literal(type)} and version = ${version}`,
    },
  );
  const [found] = email_type_version;
  if (!found) throw new AppError('NOT_FOUND', 'That version is not kept.');
  return { ...textsOf(found.content), email_type: type };
}

/** Checks against the tables of its rules or, without a rule, that of the preview. */
async function checkType(query: Visit['query'], type: string, about: Values): Promise<readonly Problem[]> {
  const { hasRule, table } = about;
  const target = hasRule === true || !table ? {} : { target: table };
  const { Utility } = await query<{ Utility: { check_email: readonly Problem[] } }>(CHECK, {
    type,
    ...target,
  });
  return Utility.check_email;
}

async function showForm({ query, show, isAdmin }: Visit, state: FormState, status = 200): Promise<void> {
  const { saved, texts, problem, problems = [], about } = state;
  const { tables, roles } = isAdmin
    ? await readChoices(query)
    : { tables: await readReadableTables(query), roles: [] };
  const table = textOf(about, 'table');
  const at = problem && fieldOf(problem);
  const wrong = problem ? [problem, ...problems] : [];
  const fields = EMAIL_FIELDS.map((field) => ({
    ...field,
    isFixed: !isAdmin && !WORDING.includes(field.name),
    value: ownValue(texts, field.name) ?? '',
    wrong: wrong.find((each) => fieldOf(each) === field)?.message,
  }));
  const values = {
    ...state,
    title: saved === '' ? 'New email' : saved,
    tables: withChosen(tables, table),
    roles,
    rows: tables.includes(table) ? await rowsToChoose(query, table) : [],
    operations: OPERATIONS.map((name) => ({ name, label: ownValue(HAPPENS, name) ?? name })),
    at,
    fields: fields.filter(({ isFurther, isFixed }) => !isFurther && !isFixed),
    fixed: fields.filter((field) => field.isFixed && field.name !== 'email_type' && isFilled(field)),
    blocks: queryBlocks(JSON.parse(texts['queries'] || '[]') as [], problem?.field),
    further: fields.filter(({ isFurther, isFixed }) => isFurther && !isFixed),
    isFurtherOpen: fields.some(
      (field) => field.isFurther && !field.isFixed && (field.wrong !== undefined || isFilled(field)),
    ),
  };
  await show('email', values, { status, script: 'preview.js', hasEditor: true });
}

/** None of a table that the role may not read: the preview says so. */
async function rowsToChoose(query: Visit['query'], table: string): ReturnType<typeof readRecentRows> {
  try {
    return await readRecentRows(query, table);
  } catch (error) {
    if (error instanceof AppError && error.code === 'PERMISSION_DENIED') return [];
    throw error;
  }
}

function isFilled({
  value,
  choices,
}: {
  readonly value: string;
  readonly choices?: readonly string[] | undefined;
}): boolean {
  return value !== '' && value !== '{}' && value !== choices?.[0];
}

/** A form keeps its selection even if the table no longer exists. */
function withChosen(tables: readonly string[], chosen: string): readonly string[] {
  return chosen === '' || tables.includes(chosen) ? tables : [chosen, ...tables];
}

async function readType(
  { query, isAdmin }: Visit,
  type: string,
  mayBeNew: boolean,
): Promise<{ texts: Record<string, string>; about: Values; version: string } | undefined> {
  if (type === '') return undefined;
  const { email_types } = await query<{ email_types: readonly Values[] }>(ONE, {
    filter: `email_type = ${literal(type)}`,
  });
  const [found] = email_types;
  if (!found && mayBeNew && isAdmin) return undefined;
  if (!found) throw new AppError('NOT_FOUND', 'There is no such email.');
  const texts = textsOf(found);
  const version = String(found['version']);
  // Its rules are known to the check itself.
  if (!isAdmin) return { texts, version, about: { hasRule: true } };
  const response = await query<Readonly<Record<string, readonly Values[]>>>(SENT, {
    sentAs: `email_type in [${sentAs(type).map(literal).join(', ')}]`,
  });
  const rule = response['email_rule']?.[0] as
    { email_type: string; operations: string[]; targets: string[]; query_roleid: number } | undefined;
  const last = response['email_delivery']?.[0];
  const about = {
    table: last?.['target'] ?? rule?.targets[0] ?? '',
    // A deleted row can't be previewed: the table's last one is, as if it were.
    key: last && last['operation'] !== 'delete' ? keyText(last['key']) : '',
    operation: rule?.operations[0] ?? 'insert',
    role: rule ? String(rule.query_roleid) : '',
    hasRule: rule?.email_type === type,
    isSent: rule !== undefined,
  };
  return { texts, about, version };
}

/** Rules of `welcome` also send its variants for a locale, such as `welcome_pt_BR`. */
function sentAs(type: string): readonly string[] {
  const base = /^(.+?)_[a-z]{2,3}(?:_[A-Za-z0-9]{2,8})*$/.exec(type)?.[1];
  return base === undefined ? [type] : [type, base];
}

/** @param live the version that is live */
function noticeOf(query: Values, live: string | undefined): Pick<FormState, 'notice' | 'isNotLive'> {
  if (query['done'] === 'saved') return { notice: 'Saved.' };
  const version = textOf(query, 'version');
  if (version === '' || version === live) return {};
  const notice =
    version === '0'
      ? 'This is the draft, which is not live. Save makes it live.'
      : `This is version ${version}, which is not live. Save makes it live again, as a new version.`;
  return { notice, isNotLive: true };
}

function givenOf(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
}
