import { readdirSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import * as liquidjs from 'liquidjs';

const TEMPLATES = path.resolve(import.meta.dirname, '../src');
/** Loading these would start the work of a render process, or they hold what changes with every job. */
const NOT_TABLES = /pool[/\\]/;

/** JavaScript's own globals, without those of Node.js. */
const INTRINSIC_NAMES = (runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[]).filter(
  (name) => name !== 'globalThis' && name !== 'console',
);

/** Intrinsics that no global names. */
function hiddenIntrinsics(): Record<string, unknown> {
  const iterators = [
    [][Symbol.iterator](),
    new Map().values(),
    new Set().values(),
    ''[Symbol.iterator](),
    'a'.matchAll(/a/g),
  ];
  return {
    iterators: iterators.map((iterator) => Object.getPrototypeOf(iterator) as object),
    functions: [function* () {}, async function () {}, async function* () {}],
    typedArray: Object.getPrototypeOf(Int8Array) as object,
  };
}

const modules: Record<string, unknown> = {};
for (const file of readdirSync(TEMPLATES, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.ts') && !NOT_TABLES.test(file))
    modules[file] = await import(path.join(TEMPLATES, file));
}

/** The objects that LiquidJS hands to templates; it does not export their classes. */
function liquidDrops(): unknown[] {
  const drops: unknown[] = [];
  const liquid = new liquidjs.Liquid();
  liquid.registerFilter('keep', (drop) => drops.push(drop));
  const print =
    '{{ forloop | keep }}{{ tablerowloop | keep }}{{ empty | keep }}{{ blank | keep }}{{ nil | keep }}';
  liquid.parseAndRenderSync(
    `{% for i in (1..1) %}${print}{% endfor %}{% tablerow i in (1..1) %}${print}{% endtablerow %}`,
  );
  return drops;
}

const DROPS = liquidDrops();

interface Held {
  /** The keys of the properties that hold values, and those values: what `hasChanged` compares. */
  readonly dataKeys: readonly PropertyKey[];
  readonly values: readonly unknown[];
  readonly path: string;
  readonly object: object;
  readonly prototype: object | null;
  readonly isExtensible: boolean;
  readonly keys: readonly PropertyKey[];
  readonly descriptors: readonly (PropertyDescriptor | undefined)[];
  /** Of a Map or Set. */
  readonly members: readonly unknown[] | undefined;
}

/** The state of everything that renders share. */
export type Snapshot = readonly Held[];

/** Everything reachable from JavaScript's own objects, from what the template modules export, and from LiquidJS. */
export function takeSnapshot(): Snapshot {
  const held: Held[] = [];
  const seen = new Set<object>();
  const waiting: [string, unknown][] = [
    ...INTRINSIC_NAMES.map((name): [string, unknown] => [name, Reflect.get(globalThis, name)]),
    ...Object.entries(hiddenIntrinsics()),
    ...Object.entries(modules),
    ['liquidjs', liquidjs],
    ['drops', DROPS],
  ];
  for (const [at, value] of waiting) {
    if (!isObject(value) || seen.has(value) || value === globalThis || value === process) continue;
    seen.add(value);
    const record = describe(at, value);
    held.push(record);
    waiting.push([`${at}.[[Prototype]]`, record.prototype]);
    record.members?.forEach((member, index) => waiting.push([`${at}<${index}>`, member]));
    record.keys.forEach((key, index) => {
      const descriptor = record.descriptors[index];
      for (const part of Object.values(descriptor ?? {}) as unknown[])
        waiting.push([`${at}.${String(key)}`, part]);
    });
  }
  return held;
}

/** Where the state differs from a snapshot; empty if nothing changed. */
export function findChanges(snapshot: Snapshot): string[] {
  const changes: string[] = [];
  for (const held of snapshot) {
    const { object, path: at, keys, descriptors } = held;
    if (Object.getPrototypeOf(object) !== held.prototype) changes.push(`${at} has another prototype`);
    if (Object.isExtensible(object) !== held.isExtensible) changes.push(`${at} was frozen`);
    const now = Reflect.ownKeys(object);
    if (now.length !== keys.length) changes.push(`${at} has ${now.length} properties, not ${keys.length}`);
    keys.forEach((key, index) => {
      if (!isSame(Reflect.getOwnPropertyDescriptor(object, key), descriptors[index]))
        changes.push(`${at}.${String(key)} is different`);
    });
    if (held.members && !isSameList(membersOf(object) ?? [], held.members))
      changes.push(`${at} has other members`);
  }
  return changes;
}

/** The part of a snapshot to compare after every render: without functions, of which there are four times as many. */
export function objectsOf(snapshot: Snapshot): Snapshot {
  return snapshot.filter(({ object }) => typeof object !== 'function');
}

/** Whether a value, a prototype or a member differs from a snapshot. */
export function hasChanged(snapshot: Snapshot): boolean {
  for (const { object, prototype, keys, dataKeys, values, members } of snapshot) {
    if (Object.getPrototypeOf(object) !== prototype) return true;
    if (Reflect.ownKeys(object).length !== keys.length) return true;
    for (let i = 0; i < dataKeys.length; i++) {
      if (!Object.is((object as Record<PropertyKey, unknown>)[dataKeys[i] ?? ''], values[i])) return true;
    }
    if (members !== undefined && !isSameList(membersOf(object) ?? [], members)) return true;
  }
  return false;
}

function describe(at: string, object: object): Held {
  const keys = Reflect.ownKeys(object);
  const dataKeys = keys.filter((key) => Reflect.getOwnPropertyDescriptor(object, key)?.get === undefined);
  return {
    dataKeys,
    values: dataKeys.map((key) => Reflect.get(object, key) as unknown),
    path: at,
    object,
    prototype: Object.getPrototypeOf(object) as object | null,
    isExtensible: Object.isExtensible(object),
    keys,
    descriptors: keys.map((key) => Reflect.getOwnPropertyDescriptor(object, key)),
    members: membersOf(object),
  };
}

function membersOf(object: object): unknown[] | undefined {
  if (object instanceof Map) return ([...object] as unknown[][]).flat();
  return object instanceof Set ? [...object] : undefined;
}

function isSame(a: PropertyDescriptor | undefined, b: PropertyDescriptor | undefined): boolean {
  if (!a || !b) return a === b;
  return (
    Object.is(a.value, b.value) &&
    a.get === b.get &&
    a.set === b.set &&
    a.writable === b.writable &&
    a.enumerable === b.enumerable &&
    a.configurable === b.configurable
  );
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => Object.is(item, b[index]));
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
