import { Router } from 'express';
import type { AppError } from '../../foundation/errors.js';
import { readConfigs } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { problemOf, textOf, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const BRAND = `${CONSOLE}/brand`;
const READ = '{ Utility { sign_in_brand { name color logo } password_sender } }';
const SET_SENDER = 'mutation ($sender: String) { Utility { set_password_sender(sender: $sender) } }';
const SET = `mutation ($name: String, $color: String, $logo: String) {
  Utility { set_sign_in_brand(name: $name, color: $color, logo: $logo) { name } }
}`;
/** A logo, percent-encoded. */
const MAX_FORM_BYTES = 262_144;

/** The page to set the branding of the tenant's sign-in page; it shows the redirect URIs too. */
export function brandPage({ page, form }: PageHandlers): Router {
  const show = page((visit, req) => showForms(visit, {}, { isSaved: req.query['done'] !== undefined }));

  const change = form(
    async (visit, _req, res) => {
      const read = (name: string): string => textOf(visit.values, name, Infinity);
      const isSender = visit.values['action'] === 'sender';
      const written = isSender
        ? { sender: read('sender') }
        : { brand: { name: read('name'), color: read('color'), logo: read('logo') } };
      try {
        if (isSender) await visit.query(SET_SENDER, written);
        else await visit.query(SET, written.brand ?? {});
        res.redirect(303, `${BRAND}?done=saved`);
      } catch (error) {
        await showForms(visit, written, { problem: problemOf(error) });
      }
    },
    { limitBytes: MAX_FORM_BYTES },
  );

  return Router().get(BRAND, show).post(BRAND, change);
}

/** @param written what was not saved */
async function showForms(
  { query, show }: Visit,
  written: { readonly brand?: Values; readonly sender?: string },
  { problem, isSaved = false }: { readonly problem?: AppError; readonly isSaved?: boolean },
): Promise<void> {
  const { Utility } = await query<{
    Utility: { sign_in_brand: Values | null; password_sender: string | null };
  }>(READ);
  const values = {
    title: 'Sign-in page',
    brand: Utility.sign_in_brand ?? {},
    sender: Utility.password_sender,
    ...written,
    configs: await readConfigs(query),
    notice: isSaved ? 'Saved.' : undefined,
  };
  await show('brand', values, { problem, script: 'brand.js' });
}
