import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ownValue } from '../foundation/ownValue.js';
import { ArgumentError } from './command.js';

/** PostgreSQL's int. */
const MAX_ID = 2_147_483_647;

/**
 * Parses a command's options, which take a string, and its flags, which take none. Throws ArgumentError.
 * @param shorts single-letter forms of options
 */
export function readOptions<Name extends string, Flag extends string = never>(
  args: readonly string[],
  names: readonly Name[],
  { flags = [], shorts = {} }: { flags?: readonly Flag[]; shorts?: Partial<Record<Name, string>> } = {},
): { readonly [name in Name]?: string } & { readonly [name in Flag]?: boolean } {
  type Options = NonNullable<ParseArgsConfig['options']>;
  const options: Options = Object.fromEntries<Options[string]>([
    ...names.map((name) => {
      const short = ownValue<string | undefined>(shorts, name);
      return [name, { type: 'string', ...(short === undefined ? {} : { short }) }] as const;
    }),
    ...flags.map((flag) => [flag, { type: 'boolean' }] as const),
  ]);
  try {
    return parseArgs({ args: [...args], options }).values as ReturnType<typeof readOptions<Name, Flag>>;
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? error.message : 'bad options');
  }
}

/** Reads the id of a tenant or role, from `least`. Throws ArgumentError with the message. */
export function readId(text: string | undefined, message: string, least = 1): number {
  const id = /^\d{1,10}$/.test(text ?? '') ? Number(text) : -1;
  if (id < least || id > MAX_ID) throw new ArgumentError(message);
  return id;
}

/** For commands that can print statements instead of running them. */
export const PRINT_SQL = { flags: ['print-sql'] } as const;

/** Throws ArgumentError. */
export function readTenantId({ tenant }: { readonly tenant?: string | undefined }): number {
  return readId(tenant, '--tenant takes the id of a tenant');
}

/** Throws ArgumentError if the option is missing or empty. */
export function required(
  options: Readonly<Record<string, string | boolean | undefined>>,
  name: string,
): string {
  const value = ownValue(options, name);
  if (typeof value !== 'string' || value === '') throw new ArgumentError(`--${name} is missing`);
  return value;
}
