import { diffLines } from 'diff';
import { Router } from 'express';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { InTurn } from '../http/readFields.js';
import { formText } from '../http/formText.js';
import { CONSOLE } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { EMAIL_FIELDS, textsOf } from './emailForm.js';
import type { PageHandlers } from './pageHandlers.js';

const VERSIONS = `query ($filter: String) {
  email_type_version(filter: $filter, ordering: ["version desc"], limit: 101) { version creatorid createtime }
}`;
const CONTENTS = `query ($filter: String) {
  email_type_version(filter: $filter, ordering: ["version desc"], limit: 2) { version content }
}`;
const ROLES = 'query ($filter: String) { role(filter: $filter, limit: 200) { roleid login } }';

interface Version {
  readonly version: string;
  readonly creatorid: number | null;
  readonly createtime: string;
}
interface Content {
  readonly version: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** The page that shows who saved an email when, and what changed. */
export function versionPage({ page }: PageHandlers): Router {
  const versions = page(async ({ query, show, inTurn }, req) => {
    const type = formText(req.query, 'type');
    const ofType = `email_type = ${literal(type)}`;
    const { email_type_version: all } = await query<{ email_type_version: readonly Version[] }>(VERSIONS, {
      filter: ofType,
    });
    if (all.length === 0) throw new AppError('NOT_FOUND', 'No version of this email is kept.');
    const shown = all.find(({ version }) => version === req.query['version']) ?? all[0];
    const newer = all.find(({ version }) => version !== '0')?.version ?? '0';
    // A draft is compared with the live version.
    const upTo =
      shown?.version === '0'
        ? `(version = 0 or version = ${newer})`
        : `version > 0 and version <= ${shown?.version ?? '0'}`;
    const [{ email_type_version: contents }, logins] = await Promise.all([
      query<{ email_type_version: readonly Content[] }>(CONTENTS, { filter: `${ofType} and ${upTo}` }),
      query<{ role: readonly { roleid: string; login: string }[] }>(ROLES, {
        filter: `roleid in [${[0, ...new Set(all.flatMap(({ creatorid }) => creatorid ?? []))].join(', ')}]`,
      }),
    ]);
    const after = contents.find(({ version }) => version === shown?.version);
    const before = contents.find(({ version }) => version !== shown?.version);
    await show('versions', {
      title: `Versions of ${type}`,
      type,
      shown: shown?.version,
      live: newer,
      compared: before?.version,
      changes: await changesBetween(inTurn, before?.content ?? {}, after?.content ?? {}),
      versions: all.map(({ version, creatorid, createtime }) => ({
        version,
        createtime,
        who: logins.role.find(({ roleid }) => roleid === String(creatorid))?.login ?? creatorid,
      })),
    });
  });
  return Router().get(`${CONSOLE}/emails/versions`, versions);
}

/** Limits for texts that have little in common, per field. Splitting one into lines takes up to a tenth of a second more. */
const DIFF_BOUNDS = { timeout: 20, maxEditLength: 2_000 } as const;
const CONTEXT_LINES = 3;

interface Change {
  readonly label: string;
  readonly parts: readonly { readonly kind: 'same' | 'added' | 'removed'; readonly text: string }[];
}

async function changesBetween(
  inTurn: InTurn,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Promise<readonly Change[]> {
  const [old, now] = [textsOf(before), textsOf(after)];
  const changes: Change[] = [];
  for (const { name, label } of EMAIL_FIELDS) {
    const [from, to] = [readable(ownValue(old, name)), readable(ownValue(now, name))];
    if (name === 'email_type' || from === to) continue;
    changes.push({ label, parts: await inTurn(() => partsOf(from, to)) });
  }
  return changes;
}

function partsOf(from: string, to: string): Change['parts'] {
  const found = diffLines(from, to, DIFF_BOUNDS) ?? [
    { removed: true, added: false, value: from },
    { removed: false, added: true, value: to },
  ];
  return found.map(({ added, removed, value }) =>
    added
      ? { kind: 'added', text: value }
      : removed
        ? { kind: 'removed', text: value }
        : { kind: 'same', text: withoutFarLines(value) },
  );
}

/** JSON with line breaks in its texts rendered as such. */
function readable(text = ''): string {
  return text.replaceAll('\\n', '\n');
}

/** Only shows unchanged lines near changed ones. */
function withoutFarLines(text: string): string {
  const lines = text.split('\n');
  if (lines.length <= 2 * CONTEXT_LINES + 2) return text;
  return [...lines.slice(0, CONTEXT_LINES), '…', ...lines.slice(-CONTEXT_LINES - 1)].join('\n');
}
