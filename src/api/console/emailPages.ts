import { Router } from 'express';
import { readKeyText } from '../../control/explain/rowKeyText.js';
import { AppError } from '../../errors.js';
import { isJsonObject, writeJson } from '../../losslessJson.js';
import { CONSOLE } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { EMAIL_FIELDS, inputOf, readTexts, textsOf } from './emailForm.js';
import type { PageKinds, Visit } from './pageKinds.js';

const EMAILS = `${CONSOLE}/emails`;
const PAGE_SIZE = 50;
/** An email type with its templates, percent-encoded. */
const MAX_FORM_BYTES = 2_097_152;
/** The mail brings styles and images of its own; there are still no scripts, and its frame is a sandbox. */
const EDITOR_POLICY =
  "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src * data:; font-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const LIST = `query ($filter: String, $limit: Int, $offset: Int) {
  email_types(filter: $filter, ordering: ["email_type"], limit: $limit, offset: $offset) { email_type subject createtime }
}`;
const ONE = `query ($filter: String) {
  email_types(filter: $filter, limit: 1) { email_type template subject recipients sender options { cc bcc } attachments
    text preheader reply_to headers categories syntax queries { query filter ordering limit offset outvar } }
  email_rule(filter: $filter, limit: 1) { operations targets query_roleid }
  email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: 1) { target key }
}`;
const ARGS = `$input: email_typesInput, $target: String, $key: GenericScalar, $operation: String, $role: Int`;
const PASSED = 'input: $input, target: $target, key: $key, operation: $operation, query_roleid: $role';
const ERROR = 'error { code field message line column hint }';
const PREVIEW = `query (${ARGS}) { Utility { preview_email(${PASSED}) {
  subject html text sender recipients cc bcc warnings { message hint } ${ERROR} } } }`;
const TEST = `mutation (${ARGS}, $to: String!) { Utility { send_test_email(${PASSED}, to: $to) { sent ${ERROR} } } }`;
const CREATE = 'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }';
const UPDATE =
  'mutation ($type: ID!, $input: email_typesInput) { update_email_type(email_type: $type, input: $input) { email_type } }';
const DELETE = 'mutation ($type: ID!) { delete_email_type(email_type: $type) { email_type } }';

type Values = Readonly<Record<string, unknown>>;
interface Problem {
  readonly message: string;
  readonly field?: unknown;
  readonly line?: unknown;
  readonly column?: unknown;
  readonly hint?: string | null;
}
interface Preview {
  readonly html: string | null;
  readonly error: Problem | null;
}

/** The tenant's email types: written, seen with a real row before they are saved, and tested. */
export function emailPages({ page, form }: PageKinds): Router {
  const list = page(async ({ ask, show }, req) => {
    const search = textOf(req.query, 'search');
    const at = Math.min(Number(/^\d{1,6}$/.exec(textOf(req.query, 'from'))?.[0] ?? 0), 1_000_000);
    const filter =
      search === ''
        ? ''
        : `contains(lower(email_type), ${literal(search.toLowerCase())}) or contains(lower(subject), ${literal(search.toLowerCase())})`;
    const { email_types } = await ask<{ email_types: readonly object[] }>(LIST, {
      filter,
      limit: PAGE_SIZE + 1,
      offset: at,
    });
    const address = (from: number): string =>
      `${EMAILS}?${new URLSearchParams({ search, from: String(from) }).toString()}`;
    await show('emails', {
      title: 'Emails',
      emails: email_types.slice(0, PAGE_SIZE),
      search,
      notice: req.query['done'] === undefined ? undefined : 'Done.',
      previous: at > 0 ? address(Math.max(0, at - PAGE_SIZE)) : undefined,
      next: email_types.length > PAGE_SIZE ? address(at + PAGE_SIZE) : undefined,
    });
  });

  const edit = page(async (visit, req) => {
    const type = textOf(req.query, 'type');
    const copy = textOf(req.query, 'copy');
    const found = await readType(visit.ask, type === '' ? copy : type);
    const texts = found ? found.texts : textsOf({ syntax: 'jinja2' });
    await showForm(visit, {
      saved: type,
      texts: copy === '' ? texts : { ...texts, email_type: '' },
      about: found?.about ?? {},
    });
  });

  const submit = form(async (visit, _req, res) => {
    const { values, ask } = visit;
    const saved = textOf(values, 'saved');
    const texts = readTexts(values);
    const about = Object.fromEntries(ABOUT.map((name) => [name, textOf(values, name)]));
    const shown: FormState = { saved, texts, about };
    try {
      const input = inputOf(texts);
      switch (values['action']) {
        case 'save':
          await ask(saved === '' ? CREATE : UPDATE, { input, ...(saved === '' ? {} : { type: saved }) });
          res.redirect(303, `${EMAILS}?done=saved`);
          return;
        case 'delete':
          await ask(DELETE, { type: saved });
          res.redirect(303, `${EMAILS}?done=deleted`);
          return;
        case 'test': {
          const to = textOf(values, 'to');
          const { Utility } = await ask<{ Utility: { send_test_email: { error: Problem | null } } }>(TEST, {
            ...rowOf(input, about),
            to,
          });
          const { error } = Utility.send_test_email;
          await showForm(visit, { ...shown, ...(error ? { problem: error } : { notice: `Sent to ${to}.` }) });
          return;
        }
        default: {
          const { Utility } = await ask<{ Utility: { preview_email: Preview } }>(
            PREVIEW,
            rowOf(input, about),
          );
          const preview = Utility.preview_email;
          await showForm(visit, { ...shown, ...(preview.error ? { problem: preview.error } : { preview }) });
        }
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500 || error.code === 'PERMISSION_DENIED')
        throw error;
      await showForm(
        visit,
        { ...shown, problem: { ...error.details, message: error.message, hint: error.hint } },
        error.status,
      );
    }
  }, MAX_FORM_BYTES);

  return Router().get(EMAILS, list).get(`${EMAILS}/edit`, edit).post(`${EMAILS}/edit`, submit);
}

/** The row that the preview is about, and the role whose rights its queries have. */
const ABOUT = ['table', 'key', 'operation', 'role'] as const;

interface FormState {
  readonly saved: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly about: Values;
  readonly problem?: Problem;
  readonly preview?: Preview;
  readonly notice?: string;
}

async function showForm({ show }: Visit, state: FormState, status = 200): Promise<void> {
  const { saved, texts, problem, preview } = state;
  const at = typeof problem?.field === 'string' ? problem.field.replace(/^options\./, '') : '';
  const html = preview?.html ?? '';
  await show(
    'email',
    {
      ...state,
      title: saved === '' ? 'New email' : saved,
      fields: EMAIL_FIELDS.map((field) => ({
        ...field,
        value: texts[field.name],
        wrong: new RegExp(`^${field.name}([.[]|$)`).test(at),
      })),
      size: Buffer.byteLength(html),
      ...seenIn(html),
    },
    { status, policy: EDITOR_POLICY },
  );
}

const MAX_LINKS = 100;

/** What a reader may miss in a preview. Tags end at the next one: a mail of tags that never end is read once. */
function seenIn(html: string): { readonly links: readonly string[]; readonly withoutAlt: number } {
  const links = html.matchAll(/<a\s[^<>]*?href\s*=\s*["']([^"'<>]*)/gi);
  const images = html.matchAll(/<img\b[^<>]*>/gi);
  return {
    links: [...links].slice(0, MAX_LINKS).map(([, href = '']) => href),
    withoutAlt: [...images].filter(([tag]) => !/\salt\s*=/i.test(tag)).length,
  };
}

async function readType(
  ask: Visit['ask'],
  type: string,
): Promise<{ texts: Record<string, string>; about: Values } | undefined> {
  // Asked in any case: it refuses whoever may not write email types.
  const answer = await ask<Readonly<Record<string, readonly Values[]>>>(ONE, {
    filter: `email_type = ${literal(type)}`,
  });
  if (type === '') return undefined;
  const found = answer['email_types']?.[0];
  if (!found) throw new AppError('NOT_FOUND', 'There is no such email.');
  const rule = answer['email_rule']?.[0] as
    { operations: string[]; targets: string[]; query_roleid: number } | undefined;
  const last = answer['email_delivery']?.[0];
  const about = {
    table: last?.['target'] ?? rule?.targets[0] ?? '',
    key: last ? keyText(last['key']) : '',
    operation: rule?.operations[0] ?? 'insert',
    role: rule?.query_roleid ?? '',
  };
  return { texts: textsOf(found), about };
}

const keyText = (key: unknown): string => (isJsonObject(key) ? writeJson(key) : (key as string));

function rowOf(input: Values, { table, key, operation, role }: Values): Values {
  return {
    input,
    ...(table === '' || key === '' ? {} : { target: table, key: readKeyText(String(key)) }),
    ...(operation === '' ? {} : { operation }),
    ...(role === '' ? {} : { role }),
  };
}

function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === 'string' ? value.trim() : '';
}
