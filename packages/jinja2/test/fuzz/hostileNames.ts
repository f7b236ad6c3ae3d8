/** Names by which JavaScript, Python and LiquidJS reach what lies behind a value. */
const REFLECTION = [
  ...'__proto__ constructor prototype hasOwnProperty isPrototypeOf propertyIsEnumerable toString toLocaleString valueOf'.split(
    ' ',
  ),
  ...'__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ toJSON then length arguments caller callee'.split(
    ' ',
  ),
  ...'name call apply bind get set value writable enumerable configurable next return throw raw Symbol.iterator @@iterator'.split(
    ' ',
  ),
  ...'__class__ __mro__ __bases__ __base__ __subclasses__ __globals__ __init__ __dict__ __builtins__ __import__ __code__'.split(
    ' ',
  ),
  ...'__getattribute__ __reduce__ __self__ __func__ __wrapped__ gi_frame f_globals tb_frame func_globals mro'.split(
    ' ',
  ),
  ...'typeName attributes map text items self invoke definition closure run budget limits context slots source dict part'.split(
    ' ',
  ),
  ...'toLiquid liquidMethodMissing equals gt lt i cols registers scopes environments globals opts liquid options renderer'.split(
    ' ',
  ),
  ...'process require module exports globalThis window global eval Function Object Array import Buffer'.split(
    ' ',
  ),
];

/** Names that the context, or a dict of it, has. */
const KNOWN =
  'records new old total list rows empty deep word dict items keys values update pop get append count index format upper'.split(
    ' ',
  );

const NUMERIC = ['0', '1', '-1', '1e3', '0x0', '-0', 'NaN', 'Infinity', '4294967295', '9007199254740993'];

/** Other spellings of a name: what a filter of names might overlook. */
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name,
  (name) => name,
  (name) => name.replaceAll('_', '＿'),
  (name) => name.replaceAll('o', 'о'),
  (name) => name.normalize('NFKD').replace(/^(.)/, '$1\u0301'),
  (name) => `${name}\u200b`,
  (name) => `\0${name}`,
  (name) => name.toUpperCase(),
  (name) => ` ${name}`,
  (name) => name.split('').reverse().join(''),
];

export type Random = (most: number) => number;

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random(items.length)] as T;
}

/** A name, mostly hostile. */
export function hostileName(random: Random): string {
  const name = pick(random, [REFLECTION, REFLECTION, KNOWN, NUMERIC] as const);
  return pick(random, SPELLINGS)(pick(random, name));
}

/** A name that can stand in a template without quotes. */
export function plainName(random: Random): string {
  for (;;) {
    const name = pick(random, pick(random, [REFLECTION, KNOWN]));
    if (/^[A-Za-z_]\w*$/.test(name)) return name;
  }
}
