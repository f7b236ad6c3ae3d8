import { Router } from 'express';
import { AppError } from '../../foundation/errors.js';
import { readRecentRows } from './choices.js';
import { CONSOLE } from './consolePath.js';
import {
  draftOf,
  DRAFT_ARGS,
  DRAFT_PASSED,
  fieldOf,
  PROBLEM,
  toProblem,
  sampleOf,
  type Problem,
} from './emailForm.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { findStarter } from './starters.js';

/** GraphQL: what the page shows of an `email_preview`. */
export const PREVIEW_SELECTION = `subject html text sender recipients cc bcc
  attachments { filename mimetype size inline } warnings { field line column message hint } error { ${PROBLEM} }`;
const PREVIEW = `query (${DRAFT_ARGS}) { Utility { preview_email(${DRAFT_PASSED}) { ${PREVIEW_SELECTION} } } }`;

const NAMES = `query ($type: ID, $input: email_typesInput, $target: String) {
  Utility { template_names(email_type: $type, input: $input, target: $target) { context functions filters tests } }
}`;

type Draft = Readonly<Record<string, unknown>>;

export interface Preview {
  readonly html: string | null;
  readonly text: string | null;
  readonly error: Problem | null;
}

/** The page contains the email three times. Gmail shows the first 100 KB of one. */
const MAX_SHOWN_CHARACTERS = 300_000;

/** An email type with its templates, percent-encoded. */
export const MAX_EMAIL_FORM_BYTES = 2_097_152;

/**
 * Shows what the form of an email would send, in a frame next to the form. It is a separate page, because the email has
 * styles and images that the form's page does not allow.
 */
export function emailPreview({ page, form }: PageHandlers): Router {
  const title = 'Preview';
  const empty = page(({ show }) => show('preview', { title }, FRAMED));

  const preview = form(
    async (visit) => {
      const { query, show } = visit;
      try {
        const draft = draftOf(visit);
        const [names, rows] = [await readNames(query, draft), await readRows(query, draft)];
        const shown = isAbout(draft) ? await compose(query, draft) : {};
        await show('preview', { title, names, rows, ...shown }, FRAMED);
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        await show('preview', { title, ...located(toProblem(error)) }, { ...FRAMED, status: error.status });
      }
    },
    { ...FRAMED, limitBytes: MAX_EMAIL_FORM_BYTES },
  );

  const starter = page(async ({ query, show }, req) => {
    const found = findStarter(req.params['name']);
    if (!found) throw new AppError('NOT_FOUND', 'There is no such starter.');
    const { email } = await compose(query, sampleOf(found, found.input));
    await show('starter', { title: found.title, email }, FRAMED);
  });

  return Router()
    .get(`${CONSOLE}/emails/preview`, empty)
    .post(`${CONSOLE}/emails/preview`, preview)
    .get(`${CONSOLE}/emails/starters/:name`, starter);
}

/** Whether there is a row, or a sample. */
function isAbout({ target, context }: Draft): boolean {
  return target !== undefined || context !== undefined;
}

async function compose(query: Visit['query'], draft: Draft): Promise<ShownPreview> {
  const { Utility } = await query<{ Utility: { preview_email: Preview } }>(PREVIEW, draft);
  return toShown(Utility.preview_email);
}

interface ShownPreview {
  readonly email?: Preview;
  readonly seen?: object;
  readonly problem?: Problem;
  readonly at?: object | undefined;
}

/** What the view shows of a preview. */
export function toShown(email: Preview): ShownPreview {
  if (email.html === null) return email.error ? located(email.error) : {};
  const { html, error } = email;
  const isTooLong = html.length + (email.text ?? '').length > MAX_SHOWN_CHARACTERS;
  const seen = { size: Buffer.byteLength(html), isTooLong, ...(isTooLong ? {} : seenIn(html)) };
  return { email, seen, ...(error && located(error)) };
}

/** The names that templates can use, for reference and for the editor. */
async function readNames(query: Visit['query'], { type, input, target }: Draft): Promise<object> {
  const { Utility } = await query<{ Utility: { template_names: object } }>(NAMES, { type, input, target });
  return Utility.template_names;
}

async function readRows(query: Visit['query'], { target }: Draft): Promise<readonly object[]> {
  return typeof target === 'string' ? readRecentRows(query, target) : [];
}

/** Adds the form field that the problem belongs to. */
function located(problem: Problem): { readonly problem: Problem; readonly at: object | undefined } {
  return { problem, at: fieldOf(problem) };
}

const FRAMED = { framed: true } as const;
const MAX_LINKS = 100;

/** Things a reader may overlook in a preview. A tag also ends at the next one, so unclosed tags don't cause quadratic time. */
function seenIn(html: string): { readonly links: readonly string[]; readonly withoutAlt: number } {
  const links = html.matchAll(/<a\s[^<>]*?href\s*=\s*["']([^"'<>]*)/gi);
  const images = html.matchAll(/<img\b[^<>]*>/gi);
  return {
    links: [...links].slice(0, MAX_LINKS).map(([, href = '']) => href),
    withoutAlt: [...images].filter(([tag]) => !/\salt\s*=/i.test(tag)).length,
  };
}
