import { Router } from 'express';
import { AppError } from '../../errors.js';
import { CONSOLE } from './consolePath.js';
import { draftOf, DRAFT_ARGS, DRAFT_PASSED, PROBLEM, problemOf, type Problem } from './emailForm.js';
import type { PageKinds } from './pageKinds.js';

const PREVIEW = `query (${DRAFT_ARGS}) { Utility { preview_email(${DRAFT_PASSED}) {
  subject html text sender recipients cc bcc attachments { filename mimetype size inline }
  warnings { field line column message hint } error { ${PROBLEM} } } } }`;

interface Preview {
  readonly html: string | null;
  readonly error: Problem | null;
}

/** An email type with its templates, percent-encoded. */
export const MAX_EMAIL_FORM_BYTES = 2_097_152;

/**
 * What the form of an email would send, in a frame beside the form. It is a page of its own, because the mail brings styles
 * and images that the page of the form does not allow.
 */
export function emailPreview({ page, form }: PageKinds): Router {
  const title = 'Preview';
  const empty = page(({ show }) => show('preview', { title }, { framed: true }));

  const preview = form(
    async ({ ask, values, show }) => {
      try {
        const { Utility } = await ask<{ Utility: { preview_email: Preview } }>(PREVIEW, draftOf(values));
        const shown = Utility.preview_email;
        const html = shown.html ?? '';
        const seen = { size: Buffer.byteLength(html), ...seenIn(html) };
        await show(
          'preview',
          { title, ...(shown.error ? { problem: shown.error } : { mail: shown, seen }) },
          FRAMED,
        );
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        await show('preview', { title, problem: problemOf(error) }, { ...FRAMED, status: error.status });
      }
    },
    { ...FRAMED, limitBytes: MAX_EMAIL_FORM_BYTES },
  );

  return Router().get(`${CONSOLE}/emails/preview`, empty).post(`${CONSOLE}/emails/preview`, preview);
}

const FRAMED = { framed: true } as const;
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
