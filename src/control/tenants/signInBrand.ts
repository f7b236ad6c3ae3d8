import { GraphQLObjectType, GraphQLString } from 'graphql';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

/** The branding of a tenant's sign-in page. */
export interface SignInBrand {
  readonly name: string | null;
  /** `#rrggbb` */
  readonly color: string | null;
  /** A data URI of an image. */
  readonly logo: string | null;
}

const MAX_NAME_LENGTH = 80;
/** Embedded in every copy of the sign-in page. */
const MAX_LOGO_LENGTH = 65_536;
/** Shown in an `img`, where scripts of an SVG do not run. */
const LOGO = /^data:image\/(png|jpeg|webp|gif|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

const TEXTS = {
  name: {
    type: GraphQLString,
    description: `Name shown on the page, at most ${MAX_NAME_LENGTH} characters.`,
  },
  color: { type: GraphQLString, description: 'Color in hexadecimal, such as `#2f55d4`.' },
  logo: {
    type: GraphQLString,
    description: 'Data URI of a PNG, JPEG, WebP, GIF or SVG of at most 48 KB: `data:image/png;base64,…`.',
  },
};

const brandType = new GraphQLObjectType<SignInBrand, ControlContext>({
  name: 'sign_in_brand',
  fields: TEXTS,
});

/** `Utility.sign_in_brand`. */
export const signInBrand: ControlField = {
  type: brandType,
  description: "Branding of the tenant's sign-in page; null if it has the default look.",
  resolve: async (_source, _args, { principal, db }) => {
    requireTenantAdmin(principal);
    return (await readSignInBrand(db, principal.tenantid)) ?? null;
  },
};

/** `Utility.set_sign_in_brand`. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT. */
export const setSignInBrand: ControlField<Partial<SignInBrand>> = {
  type: brandType,
  description:
    "Replaces the branding of the tenant's sign-in page. Omitted arguments are cleared; without any, the default look returns.",
  args: TEXTS,
  resolve: async (_source, given, { principal, db }) => {
    requireTenantAdmin(principal);
    const { tenantid } = principal;
    const brand = readBrand(given);
    if (Object.values(brand).every((value) => value === null)) {
      await db.query('delete from rowpost.sign_in_brand where tenantid = $1', [tenantid]);
      return null;
    }
    await db.query(
      `insert into rowpost.sign_in_brand (tenantid, name, color, logo) values ($1, $2, $3, $4)
       on conflict (tenantid) do update set name = excluded.name, color = excluded.color, logo = excluded.logo`,
      [tenantid, brand.name, brand.color, brand.logo],
    );
    return brand;
  },
};

/** Readable by anyone who opens the tenant's sign-in page. */
export async function readSignInBrand(
  db: StatementRunner,
  tenantid: number,
): Promise<SignInBrand | undefined> {
  const { rows } = await db.query<SignInBrand>(
    'select name, color, logo from rowpost.sign_in_brand where tenantid = $1',
    [tenantid],
  );
  return rows[0];
}

/** Throws AppError BAD_USER_INPUT. */
export function readBrand(given: Partial<SignInBrand>): SignInBrand {
  return { name: readName(given), color: readColor(given), logo: readLogo(given) };
}

function readName({ name }: Partial<SignInBrand>): string | null {
  const text = name?.trim() ?? '';
  if (text === '') return null;
  if (text.length <= MAX_NAME_LENGTH && !/\p{C}/u.test(text)) return text;
  throw badInput('name', `name must be a single line of at most ${MAX_NAME_LENGTH} characters.`);
}

function readColor({ color }: Partial<SignInBrand>): string | null {
  if (color == null || color === '') return null;
  if (/^#[0-9a-f]{6}$/i.test(color)) return color;
  throw badInput('color', 'color must be written like #2f55d4.');
}

function readLogo({ logo }: Partial<SignInBrand>): string | null {
  if (logo == null || logo === '') return null;
  if (logo.length <= MAX_LOGO_LENGTH && LOGO.test(logo)) return logo;
  throw badInput(
    'logo',
    'logo must be a data URI of an image of at most 48 KB, such as data:image/png;base64,….',
  );
}
