import { GraphQLList, GraphQLString } from 'graphql';
import { AppError } from '../../foundation/errors.js';
import { badInput } from '../derive/badInput.js';
import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { requireKnownClasses } from '../derive/references.js';
import { blankToNull, distinct } from '../derive/readValues.js';
import { toAdmins } from '../derive/visibility.js';
import { requireConfig } from '../oidc/oidcMappings.js';
import { checkProvisioning, readDomains, requireParentRole } from '../oidc/checkProvisioning.js';
import { requireRoot, requireTenantAdmin } from '../permissions.js';

const listOfStrings = new GraphQLList(GraphQLString);

/** Anyone may begin a sign-in, for which all of a provisioning is read. */
const MAX_TEMPLATE_CHARACTERS = 10_000;
/** Finding a claim takes time with the square of its path. */
const MAX_PATH_CHARACTERS = 200;
const MAX_VALUE_CHARACTERS = 500;
/** Of a configuration. A sign-in looks for those that are a person's. */
const MAX_GROUPS = 10_000;

/** How sign-ins through a configuration make roles. */
export const oidcProvisioning = controlObject({
  table: 'oidc_provisioning',
  label: 'provisioning',
  description: 'How a first sign-in through a configuration makes a role. Without it, sign-ins make none.',
  key: ['confid'],
  columns: {
    confid: { type: 'int4', input: true, required: true, references: requireConfig, unique: true },
    parentid: {
      type: 'int4',
      input: 'The role below which roles are created. They get nothing that it does not have.',
      required: true,
      references: requireParentRole,
    },
    capabilities: {
      type: 'text[]',
      input: 'Of new roles; `login` if omitted.',
      fallback: ['login'],
      read: distinct<string>,
    },
    classes: {
      type: 'int4[]',
      input: 'Of new roles, besides those that come from their groups.',
      fallback: [],
      read: distinct<number>,
    },
    name: {
      type: 'text',
      input: 'Of new roles, a template over `claims`, such as `{{ claims.name }}`.',
      maxCharacters: MAX_TEMPLATE_CHARACTERS,
      read: blankToNull,
    },
    login: {
      type: 'text',
      input: 'Of new roles, a template over `claims`, such as `{{ claims.email }}`; none if omitted.',
      maxCharacters: MAX_TEMPLATE_CHARACTERS,
      read: blankToNull,
    },
    scope: {
      type: 'text',
      input:
        'Scopes to ask the provider for besides `openid profile email`, separated by spaces, such as `groups`.',
      maxCharacters: 1_000,
      read: blankToNull,
    },
    email_domains: {
      type: 'text[]',
      output: listOfStrings,
      input: {
        type: listOfStrings,
        description: 'Whose verified addresses are let in; all people if empty.',
      },
      fallback: [],
      read: readDomains,
    },
    required_claim: {
      type: 'text',
      input:
        'A claim, by its path, that must be, or hold, `required_value`, such as `hd`, `tid` or `groups`.',
      maxCharacters: MAX_PATH_CHARACTERS,
      read: blankToNull,
    },
    required_value: { type: 'text', input: true, maxCharacters: MAX_VALUE_CHARACTERS, read: blankToNull },
    seats: {
      type: 'int4',
      input: 'How many roles the configuration may be mapped to before it makes no more.',
    },
    link_by_email: {
      type: 'bool',
      input:
        "Whether a role below `parentid` whose login is the person's verified address is mapped to the identity, once, instead of a new one.",
      fallback: false,
      nullMeansUnchanged: true,
    },
    groups_claim: {
      type: 'text',
      input:
        'The claim with the groups, by its path, such as `groups` or `realm_access.roles`. See `oidc_group_class`.',
      maxCharacters: MAX_PATH_CHARACTERS,
      read: blankToNull,
    },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireRoot,
  async check({ context, row }) {
    await requireKnownClasses(context, row.classes);
    await checkProvisioning(context, row);
  },
  deleteDescription: 'Roles that sign-ins have made stay, with their mappings.',
});

/** Which group at the provider is which class. */
export const oidcGroupClass = controlObject({
  table: 'oidc_group_class',
  label: 'group',
  description:
    'Who has the group at the provider is in the class, from one sign-in to the next, if `parentid` of the provisioning and the role directly above are in it too, or have `admin`. The provisioning of the configuration names the claim.',
  key: ['confid', 'group_name', 'classid'],
  keySeparator: ' ',
  columns: {
    confid: { type: 'int4', input: true, required: true, references: requireConfig },
    group_name: {
      type: 'text',
      input: 'A value of the claim, exactly as the provider sends it.',
      required: true,
      maxCharacters: MAX_VALUE_CHARACTERS,
      unique: true,
    },
    classid: {
      type: 'int4',
      input: true,
      required: true,
      references: (context, classid: number) => requireKnownClasses(context, [classid]),
    },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireRoot,
  changes: ['create', 'delete'],
  async check({ context: { db, principal }, row: { confid } }) {
    const { rows } = await db.query<{ groups: number }>(
      'select count(*)::int as groups from rowpost.oidc_group_class where tenantid = $1 and confid = $2',
      [principal.tenantid, confid],
    );
    if (rows[0] && rows[0].groups >= MAX_GROUPS)
      throw badInput('group_name', `A configuration has at most ${MAX_GROUPS} groups with their classes.`);
  },
  referenceLost: ({ classid }) => new AppError('BAD_USER_INPUT', `The tenant has no class ${classid}.`),
});
