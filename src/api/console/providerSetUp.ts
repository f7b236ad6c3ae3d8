import { Router } from 'express';
import { requireRoot } from '../../control/permissions.js';
import { AppError } from '../../foundation/errors.js';
import { linkTo } from './consolePath.js';
import { formProblems, type FieldWords } from './formProblems.js';
import { itemsOf, numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { PROVIDERS, showProviderPage } from './providerPage.js';

const CREATE_PROVIDER =
  'mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) { providerid } }';
const CREATE_CONFIG = 'mutation ($input: oidc_configInput) { create_oidc_config(input: $input) { confid } }';
const CREATE_ROLE = 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }';
const DELETE_ROLE = 'mutation ($roleid: ID!) { delete_role(roleid: $roleid) { roleid } }';
const CREATE_PROVISIONING =
  'mutation ($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid } }';
const UPDATE_PROVISIONING = `mutation ($confid: ID!, $input: oidc_provisioningInput) {
  update_oidc_provisioning(confid: $confid, input: $input) { confid } }`;
const DELETE_PROVISIONING =
  'mutation ($confid: ID!) { delete_oidc_provisioning(confid: $confid) { confid } }';
const CREATE_GROUP =
  'mutation ($input: oidc_group_classInput) { create_oidc_group_class(input: $input) { classid } }';
const DELETE_GROUP = `mutation ($confid: ID!, $group: ID!, $classid: ID!) {
  delete_oidc_group_class(confid: $confid, group_name: $group, classid: $classid) { classid } }`;
const CREATE_CLASS = 'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }';
const JOIN =
  'mutation ($roleid: ID!, $input: roleInput) { update_role(roleid: $roleid, input: $input) { roleid } }';
const PARENT = `query ($provisioning: String) {
  oidc_provisioning(filter: $provisioning, limit: 1) { parentid }
  role_class(limit: 1000) { classid name }
}`;
const CLASSES_OF = 'query ($role: String) { role(filter: $role, limit: 1) { classes { classid } } }';

/** What the forms call their fields. */
const WORDS: Readonly<Record<string, FieldWords>> = {
  name: {
    label: 'Name',
    missing: 'Give it a name.',
    taken: 'There is already an identity provider with this name.',
  },
  issuer: { label: 'Issuer' },
  auth_uri: { label: 'Authorization endpoint', missing: 'Enter the address where people sign in.' },
  token_uri: { label: 'Token endpoint', missing: 'Enter the address.' },
  jwks_uri: { label: 'Keys (JWKS)', missing: 'Enter the address.' },
  tenantid: { label: 'Only for tenant' },
  client_id: { label: 'Client id', missing: 'Enter what the provider calls this application.' },
  client_secret: { label: 'Client secret', missing: 'Enter the secret that the provider shows for it.' },
  email_domains: { label: 'Only addresses at' },
  required_claim: { label: 'Only if the claim' },
  groups_claim: { label: 'Claim with the groups' },
  capabilities: { label: 'They may' },
  group_name: { label: 'Group', missing: 'Enter the group, exactly as the provider names it.' },
};

/** Forms that let a company in: the provider, the registration with it, who may sign in, and what their groups are. */
export function providerSetUp({ form }: PageHandlers): Router {
  /** A form that leads to the configuration, or says what is wrong with it. */
  const step = (change: (visit: Visit) => Promise<string>): ReturnType<PageHandlers['form']> =>
    form(async (visit, _req, res) => {
      const { values } = visit;
      try {
        const confid = await change(visit);
        res.redirect(303, linkTo(PROVIDERS, { confid, done: 'saved' }));
      } catch (error) {
        const problem = isOfForm(error) ? error : problemOf(error);
        const problems = formProblems(problem, WORDS);
        await showProviderPage(visit, numberOf(values, 'confid'), {
          problem,
          problems,
          given: textsOf(values, ENTERED),
        });
      }
    });

  return Router()
    .post(`${PROVIDERS}/provider`, step(createProvider))
    .post(`${PROVIDERS}/registration`, step(ofRoot(createConfig)))
    .post(`${PROVIDERS}/people`, step(ofRoot(saveProvisioning)))
    .post(`${PROVIDERS}/groups`, step(ofRoot(changeGroups)));
}

/** What the form itself can mend: an issuer that is not responding, and more than the role has that people are below. */
function isOfForm(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  return (
    error.code === 'OIDC_PROVIDER_ERROR' || (error.code === 'PERMISSION_DENIED' && 'field' in error.details)
  );
}

/** Without secrets. */
const ENTERED = [
  ...['name', 'issuer', 'auth_uri', 'token_uri', 'jwks_uri', 'tenantid', 'providerid', 'client_id'],
  ...['email_domains', 'required_claim', 'required_value', 'groups_claim', 'capabilities', 'parentid'],
  ...['login', 'scope', 'isPeople', 'group_name', 'class_name'],
];

/** Omits what is empty. */
function textsOf(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(
    names.map((name) => [name, textOf(values, name, MAX_TEXT)] as const).filter(([, text]) => text !== ''),
  );
}
const MAX_TEXT = 2_000;

async function createProvider({ query, values }: Visit): Promise<string> {
  const tenantid = textOf(values, 'tenantid');
  const input = {
    ...textsOf(values, ['name', 'issuer', 'auth_uri', 'token_uri', 'jwks_uri', 'comparison_field']),
    ...(tenantid === '' ? {} : { tenantid: numberOf(values, 'tenantid') }),
  };
  await query(CREATE_PROVIDER, { input });
  return '';
}

/** Checked before anything is made that the form's last request is about. */
const ofRoot =
  (change: (visit: Visit) => Promise<string>) =>
  (visit: Visit): Promise<string> => {
    requireRoot(visit.session.principal);
    return change(visit);
  };

async function createConfig({ query, values }: Visit): Promise<string> {
  const input = {
    providerid: numberOf(values, 'providerid'),
    client_id: textOf(values, 'client_id', MAX_TEXT),
    client_secret: textOf(values, 'secret', MAX_SECRET),
  };
  const { create_oidc_config } = await query<{ create_oidc_config: { readonly confid: Id } }>(CREATE_CONFIG, {
    input,
  });
  return String(create_oidc_config.confid);
}
const MAX_SECRET = 10_000;

/** With a role of their own to be below, if none is chosen. */
async function saveProvisioning({ query, values }: Visit): Promise<string> {
  const confid = numberOf(values, 'confid');
  if (values['action'] === 'delete') {
    await query(DELETE_PROVISIONING, { confid });
    return String(confid);
  }
  const capabilities = itemsOf(values, 'capabilities');
  const optional = ['required_claim', 'required_value', 'groups_claim', 'scope', 'name', 'login'];
  const input = {
    ...Object.fromEntries(optional.map((name) => [name, textOf(values, name, MAX_TEXT)])),
    capabilities,
    email_domains: itemsOf(values, 'email_domains'),
  };
  const chosen = numberOf(values, 'parentid');
  if (values['isNew'] !== 'yes') {
    await query(UPDATE_PROVISIONING, { confid, input: { ...input, parentid: chosen } });
  } else if (chosen !== 0) {
    await query(CREATE_PROVISIONING, { input: { ...input, confid, parentid: chosen } });
  } else {
    const role = { name: textOf(values, 'parent_name'), capabilities };
    const { create_role } = await query<{ create_role: { readonly roleid: Id } }>(CREATE_ROLE, {
      input: role,
    });
    const parentid = Number(create_role.roleid);
    try {
      await query(CREATE_PROVISIONING, { input: { ...input, confid, parentid } });
    } catch (error) {
      await query(DELETE_ROLE, { roleid: parentid });
      throw error;
    }
  }
  return String(confid);
}

/** A class that doesn't exist is created, and the role that people are below is put into it: nobody gets more than that role has. */
async function changeGroups({ query, values }: Visit): Promise<string> {
  const confid = numberOf(values, 'confid');
  const group = textOf(values, 'group_name', MAX_TEXT);
  if (values['action'] === 'remove') {
    await query(DELETE_GROUP, { confid, group, classid: numberOf(values, 'classid') });
    return String(confid);
  }
  const { oidc_provisioning, role_class } = await query<{
    oidc_provisioning: readonly { readonly parentid: Id }[];
    role_class: readonly { readonly classid: Id; readonly name: string }[];
  }>(PARENT, { provisioning: `confid = ${confid}` });
  const name = textOf(values, 'class_name') || group;
  const known = role_class.find((each) => each.name === name)?.classid;
  const classid = Number(
    known ??
      (await query<{ create_role_class: { readonly classid: Id } }>(CREATE_CLASS, { input: { name } }))
        .create_role_class.classid,
  );
  const parentid = Number(oidc_provisioning[0]?.parentid ?? 0);
  const { role } = await query<{ role: readonly { readonly classes: readonly { classid: Id }[] }[] }>(
    CLASSES_OF,
    { role: `roleid = ${parentid}` },
  );
  const classes = role[0]?.classes.map((each) => Number(each.classid));
  if (classes && !classes.includes(classid))
    await query(JOIN, { roleid: parentid, input: { classes: [...classes, classid] } });
  await query(CREATE_GROUP, { input: { confid, group_name: group, classid } });
  return String(confid);
}
