import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import { oneStep } from '../../graphql/steps.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';
import { isTooDeep, type Claims } from './claims.js';
import type { OidcSetUp, RehearsedRole, SetUpStep, TriedSignIn } from './oidcSetUp.js';

const text = { type: new GraphQLNonNull(GraphQLString) };
const texts = { type: new GraphQLNonNull(new GraphQLList(text.type)) };

const stepType = new GraphQLObjectType<SetUpStep, ControlContext>({
  name: 'oidc_check',
  fields: {
    step: {
      type: new GraphQLEnumType({
        name: 'oidc_step',
        values: {
          discovery: { description: "The issuer's discovery document names the addresses of the provider." },
          keys: { description: 'The keys of the provider can be read.' },
          authorization: { description: 'The provider shows its sign-in for the redirect URI.' },
          client: { description: 'The token endpoint accepts the client.' },
        },
      }),
    },
    ok: { type: new GraphQLNonNull(GraphQLBoolean) },
    message: { type: GraphQLString, description: 'What is wrong.' },
  },
});

const triedType = new GraphQLObjectType<TriedSignIn, ControlContext>({
  name: 'oidc_trial',
  fields: {
    read: {
      type: new GraphQLList(
        new GraphQLObjectType({ name: 'oidc_claim', fields: { path: text, values: texts } }),
      ),
      description: 'The claims that count, with their texts.',
    },
    role: {
      type: new GraphQLObjectType<RehearsedRole, ControlContext>({
        name: 'oidc_trial_role',
        fields: {
          roleid: { type: SCALARS.Int, description: 'Null if the role would be new.' },
          login: { type: GraphQLString },
          name: { type: GraphQLString },
          parentid: { type: SCALARS.Int },
          capabilities: texts,
          classes: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(SCALARS.Int))) },
        },
      }),
      description: 'The role as it would be; null if the sign-in would be refused.',
    },
    refusal: {
      type: new GraphQLObjectType({ name: 'oidc_refusal', fields: { code: text, message: text } }),
    },
  },
});

const confid = { type: new GraphQLNonNull(SCALARS.Int) };

/** As of a provider's response. */
const MAX_CLAIMS_CHARACTERS = 262_144;

/** `Utility.check_oidc_config`. Throws AppError PERMISSION_DENIED, OIDC_CONFID_NOT_FOUND. */
export const checkOidcConfig: ControlField<{ readonly confid: number }> = {
  type: new GraphQLList(stepType),
  description: 'Checks a configuration against its provider, step by step, without signing anybody in.',
  args: { confid },
  resolve: (_source, given, { principal, options }) => {
    requireTenantAdmin(principal);
    return setUpOf(options).check(principal.tenantid, given.confid);
  },
};

/** `Utility.try_oidc_claims`. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT, OIDC_CONFID_NOT_FOUND, TOO_BUSY. */
export const tryOidcClaims: ControlField<{ readonly confid: number; readonly claims: string }> = {
  type: triedType,
  description: 'The role and classes that a sign-in with these claims would get now. Nothing is changed.',
  args: { confid, claims: { ...text, description: 'Of an ID token and UserInfo, as JSON.' } },
  resolve: async (_source, given, { principal, options, deps }) => {
    requireTenantAdmin(principal);
    const read = oneStep(() => readClaims(given.claims));
    const claims = await deps.engine.planning.run(planOwnerOf(principal), read);
    return setUpOf(options).tryClaims(principal.tenantid, given.confid, claims);
  },
};

/** Throws AppError BAD_USER_INPUT. */
function readClaims(json: string): Claims {
  if (json.length > MAX_CLAIMS_CHARACTERS)
    throw badInput('claims', `claims has more than ${MAX_CLAIMS_CHARACTERS} characters.`);
  const claims = parseClaims(json);
  if (!claims) throw badInput('claims', 'claims must be a JSON object.');
  if (isTooDeep(claims)) throw badInput('claims', 'claims are nested too deeply.');
  return claims;
}

function parseClaims(json: string): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(json);
    return typeof claims === 'object' && !Array.isArray(claims) && claims ? (claims as Claims) : undefined;
  } catch {
    return undefined;
  }
}

function setUpOf({ oidcSetUp }: ControlContext['options']): OidcSetUp {
  if (!oidcSetUp) throw new Error('this process calls no identity providers');
  return oidcSetUp;
}
