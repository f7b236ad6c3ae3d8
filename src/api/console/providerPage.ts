import { Router } from 'express';
import { PRESETS } from '../../control/roles/presets.js';
import type { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE } from './consolePath.js';
import { readChoices } from './choices.js';
import { numberOf, problemOf, shortened, textOf, type Id, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

export const PROVIDERS = `${CONSOLE}/identity-providers`;
const CONFIGS = `{
  oidc_config(ordering: ["confid"], limit: 1000) { confid providerid client_id redirect_uri max_session_age }
  oidc_providers(ordering: ["name"], limit: 1000) { providerid name comparison_field issuer tenantid }
  oidc_provisioning(limit: 1000) {
    confid parentid capabilities name login scope email_domains required_claim required_value groups_claim
  }
}`;
const GROUPS = `query ($filter: String, $parentid: Int!) {
  oidc_group_class(filter: $filter, ordering: ["group_name"], limit: 500) { group_name classid }
  role_class(ordering: ["name"], limit: 1000) { classid name }
  Utility { role_rights(roleid: $parentid) { classes } }
}`;
const ALL_PROVIDERS = `{
  oidc_providers(ordering: ["name"], limit: 1000) {
    providerid name issuer auth_uri token_uri jwks_uri comparison_field tenantid
  }
}`;
const CHECK = 'query ($confid: Int!) { Utility { check_oidc_config(confid: $confid) { step ok message } } }';
const TRY = `query ($confid: Int!, $claims: String!) { Utility { try_oidc_claims(confid: $confid, claims: $claims) {
  read { path values } role { roleid login name parentid capabilities classes } refusal { code message }
} } }`;
const CLASSES = 'query ($filter: String) { role_class(filter: $filter, limit: 1000) { classid name } }';

const TITLES: Readonly<Record<string, string>> = {
  discovery: 'Discovery document',
  keys: 'Keys',
  authorization: 'Sign-in at the provider',
  client: 'Client id, and secret or key',
};
const EXAMPLE =
  '{\n  "sub": "8f6b7a52",\n  "email": "ada@example.com",\n  "email_verified": true,\n  "groups": ["staff"]\n}';

/** Templates of new roles: in a view they would be read. */
const SUGGESTED = { name: '{{ claims.name }}', login: '{{ claims.email }}' };

interface Configs {
  readonly oidc_config: readonly { readonly confid: Id; readonly providerid: Id }[];
  readonly oidc_providers: readonly { readonly providerid: Id; readonly name: string }[];
  readonly oidc_provisioning: readonly { readonly confid: Id; readonly parentid: Id }[];
}

interface Groups {
  readonly oidc_group_class: readonly { readonly group_name: string; readonly classid: Id }[];
  readonly role_class: readonly { readonly classid: Id; readonly name: string }[];
  readonly Utility: { readonly role_rights: { readonly classes: readonly Id[] } | null };
}

interface Trial {
  readonly read: readonly { readonly path: string; readonly values: readonly string[] }[];
  readonly role: { readonly roleid: Id | null; readonly classes: readonly Id[] } | null;
  readonly refusal: { readonly code: string; readonly message: string } | null;
}

/** Checks a configuration against its identity provider, and shows what claims would make of somebody. */
export function providerPage({ page, form }: PageHandlers): Router {
  const list = page((visit, req) =>
    showProviderPage(visit, numberOf(req.query, 'confid'), {
      notice: req.query['done'] === 'saved' ? 'Saved.' : undefined,
    }),
  );

  const submit = form(async (visit) => {
    const { values, query } = visit;
    const confid = numberOf(values, 'confid');
    const claims = textOf(values, 'claims', Infinity);
    try {
      if (values['action'] === 'check') {
        const { Utility } = await query<{
          Utility: { check_oidc_config: readonly { readonly step: string }[] };
        }>(CHECK, {
          confid,
        });
        const steps = Utility.check_oidc_config.map((each) => ({
          ...each,
          title: ownValue(TITLES, each.step),
        }));
        await showProviderPage(visit, confid, { steps });
      } else {
        const { Utility } = await query<{ Utility: { try_oidc_claims: Trial } }>(TRY, { confid, claims });
        await showProviderPage(visit, confid, {
          trial: await describeTrial(visit, Utility.try_oidc_claims),
          claims,
        });
      }
    } catch (error) {
      await showProviderPage(visit, confid, { claims, problem: problemOf(error) });
    }
  });

  return Router().get(PROVIDERS, list).post(PROVIDERS, submit);
}

interface Shown {
  readonly steps?: readonly object[];
  readonly trial?: object;
  readonly claims?: string;
  /** Those of a trial. */
  readonly own?: readonly object[];
  /** How many of them are not shown. */
  readonly left?: number;
  readonly problem?: AppError;
  /** What is wrong with a form. */
  readonly problems?: readonly object[];
  /** What was entered into it. */
  readonly given?: Values;
  readonly notice?: string | undefined;
}

export async function showProviderPage(
  { query, show, isOperator, session }: Visit,
  confid: number,
  { problem, ...shown }: Shown,
): Promise<void> {
  const title = 'Identity providers';
  if (isOperator) {
    const { oidc_providers } = await query<Configs>(ALL_PROVIDERS);
    await show('providers', { title, providers: oidc_providers, ...shown }, { problem });
    return;
  }
  const { oidc_config, oidc_providers, oidc_provisioning } = await query<Configs>(CONFIGS);
  const configs = oidc_config.map((each) => ({
    ...each,
    provider: oidc_providers.find(({ providerid }) => String(providerid) === String(each.providerid)),
    provisioning: oidc_provisioning.find((made) => String(made.confid) === String(each.confid)),
  }));
  const chosen = configs.find((each) => String(each.confid) === String(confid)) ?? configs[0];
  const { isRoot } = session.principal;
  const values = {
    title,
    configs,
    chosen,
    providers: oidc_providers.map((each) => ({ ...each, providerid: String(each.providerid) })),
    isRoot,
    ...(chosen?.provisioning ? await readGroups(query, chosen.confid, chosen.provisioning.parentid) : {}),
    roles: isRoot && chosen ? (await readChoices(query)).roles : [],
    suggested: SUGGESTED,
    presets: PRESETS,
    parentid: shown.given?.['parentid'] ?? String(chosen?.provisioning?.parentid ?? ''),
    ...shown,
    claims: shown.claims ?? EXAMPLE,
  };
  await show('identity-providers', values, { problem });
}

/** Which group is which class, and whether anybody can get it. */
async function readGroups(query: Visit['query'], confid: Id, parentid: Id): Promise<object> {
  const { oidc_group_class, role_class, Utility } = await query<Groups>(GROUPS, {
    filter: `confid = ${confid}`,
    parentid: Number(parentid),
  });
  const names = new Map(role_class.map(({ classid, name }) => [String(classid), name]));
  const held = new Set(Utility.role_rights?.classes.map(String));
  return {
    classes: role_class,
    groups: oidc_group_class.map((each) => ({
      ...each,
      name: names.get(String(each.classid)),
      isGiven: held.has(String(each.classid)),
    })),
  };
}

/** A provider may send a megabyte. */
const MAX_READ_CHARACTERS = 500;

/** With the names of classes, and what was read as one text each. */
export async function describeTrial(
  { query }: Visit,
  trial: Pick<Trial, 'role' | 'read' | 'refusal'>,
): Promise<object> {
  const read = trial.read.map(({ path, values }) => ({
    path,
    text: shortened(values.join(', '), MAX_READ_CHARACTERS),
  }));
  const classids = trial.role?.classes ?? [];
  if (classids.length === 0) return { ...trial, read, classes: [] };
  const filter = classids.map((id) => `classid = ${Number(id)}`).join(' or ');
  const { role_class } = await query<{ role_class: readonly { readonly name: string }[] }>(CLASSES, {
    filter,
  });
  return { ...trial, read, classes: role_class.map(({ name }) => name) };
}
