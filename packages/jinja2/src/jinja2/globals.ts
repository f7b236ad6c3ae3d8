import { limitFault, renderFault } from '../errors.js';
import { DICT_METHODS, entriesOf } from '../methods/dictMethods.js';
import { BoundMethod, BuiltinFunction, Callable, bindArguments } from '../values/callable.js';
import type { CallArguments, Evaluation } from '../values/callable.js';
import { Dict } from '../values/dict.js';
import { asInteger, indexArgument } from '../values/numbers.js';
import { isTrue } from '../values/truth.js';
import { Markup, PyObject, Range, Tuple, typeName } from '../values/value.js';
import type { Value } from '../values/value.js';

/** `range(stop)`, `range(start, stop, step)`, of a bounded length. */
function range({ positional, named }: CallArguments, { budget }: Evaluation): Value {
  if (named.size > 0) throw renderFault('range() takes no keyword arguments');
  if (positional.length < 1 || positional.length > 3)
    throw renderFault(`range expected 1 to 3 arguments, got ${positional.length}`);
  const [first = 0, second, third = 1] = positional.map((value) => {
    const integer = asInteger(value);
    if (integer === undefined)
      throw renderFault(`'${typeName(value)}' object cannot be interpreted as an integer`);
    if (typeof integer === 'bigint') throw renderFault('range() takes integers of up to 2 ** 53');
    return integer;
  });
  if (third === 0) throw renderFault('range() arg 3 must not be zero');
  const made = second === undefined ? new Range(0, first, 1) : new Range(first, second, third);
  const limit = budget.limits.range;
  if (made.length > limit) throw limitFault(`Range too big: ${made.length} items (limit ${limit})`);
  return made;
}

/** `dict(mapping_or_pairs, **names)` */
function dict(args: CallArguments, evaluation: Evaluation): Dict {
  if (args.positional.length > 1)
    throw renderFault(`dict expected at most 1 argument, got ${args.positional.length}`);
  const [source = Dict.of()] = args.positional;
  const made = Dict.of(entriesOf(source, evaluation));
  for (const [name, value] of args.named) made.set(name, value);
  evaluation.budget.allocate(made.size());
  return made;
}

/** A class of Python's, which templates call to get an object. */
class BuiltinClass extends BuiltinFunction {
  constructor(
    private readonly name: string,
    invoke: (args: CallArguments, evaluation: Evaluation) => Value,
  ) {
    super(invoke, 'type');
  }

  override repr(): string {
    return `<class '${this.name}'>`;
  }
}

/** `dict`; its method `fromkeys` needs no dict. */
class DictClass extends BuiltinClass {
  override attribute(name: string): Value | undefined {
    const method = name === 'fromkeys' ? DICT_METHODS.get(name) : undefined;
    return method && new BoundMethod(Dict.of(), method);
  }
}

/** An object whose attributes `{% set ns.name = … %}` may set, from any scope. */
export class Namespace extends PyObject {
  readonly typeName = 'Namespace';
  constructor(private readonly attributes: Dict) {
    super();
  }

  override attribute(name: string): Value | undefined {
    return name.startsWith('_') ? undefined : this.attributes.get(name);
  }

  set(name: string, value: Value): void {
    this.attributes.set(name, value);
  }

  override repr(print: (value: Value) => string): string {
    return `<Namespace ${print(this.attributes)}>`;
  }
}

/** `cycler(…)`: returns its items in rotation. */
class Cycler extends PyObject {
  readonly typeName = 'Cycler';
  private position = 0;

  constructor(private readonly items: readonly Value[]) {
    super();
    if (items.length === 0) throw renderFault('at least one item has to be provided');
  }

  private get current(): Value {
    return this.items[this.position] ?? null;
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'current':
        return this.current;
      case 'items':
        return new Tuple(this.items);
      case 'pos':
        return this.position;
      case 'next':
        return new BuiltinFunction(() => {
          const { current } = this;
          this.position = (this.position + 1) % this.items.length;
          return current;
        }, 'method');
      case 'reset':
        return new BuiltinFunction(() => {
          this.position = 0;
          return null;
        }, 'method');
      default:
        return undefined;
    }
  }
}

/** `joiner(sep)`: prints nothing on the first call, and its separator from then on. */
class Joiner extends Callable {
  readonly typeName = 'Joiner';
  private used = false;

  constructor(private readonly separator: Value) {
    super();
  }

  override attribute(name: string): Value | undefined {
    if (name === 'sep') return this.separator;
    return name === 'used' ? this.used : undefined;
  }

  override call(): Value {
    const first = !this.used;
    this.used = true;
    return first ? '' : this.separator;
  }
}

const LOREM =
  'lorem ipsum dolor sit amet consectetuer adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua';

/** `lipsum(n, html, min, max)`: placeholder text, the same every time. */
function lipsum(args: CallArguments, { budget }: Evaluation): Value {
  const signature = { name: 'lipsum', parameters: ['n', 'html', 'min', 'max'], required: 0 };
  const [n = 5, html = true, , max = 100] = bindArguments(signature, args);
  const words = LOREM.split(' ');
  const length = Math.max(1, indexArgument(max));
  budget.allocate(indexArgument(n) * length * 8);
  const sentence = Array.from({ length }, (_, i) => words[i % words.length] ?? '').join(' ');
  const paragraph = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
  const paragraphs = Array.from({ length: Math.max(0, indexArgument(n)) }, () => paragraph);
  return isTrue(html) ? new Markup(paragraphs.map((p) => `<p>${p}</p>`).join('\n')) : paragraphs.join('\n\n');
}

/** The functions every template can call. */
export const GLOBALS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['range', new BuiltinFunction(range, 'function')],
  ['dict', new DictClass('dict', dict)],
  [
    'namespace',
    new BuiltinClass(
      'jinja2.utils.Namespace',
      (args, evaluation) => new Namespace(Dict.of(dict(args, evaluation).entries())),
    ),
  ],
  ['cycler', new BuiltinClass('jinja2.utils.Cycler', ({ positional }) => new Cycler(positional))],
  [
    'joiner',
    new BuiltinClass('jinja2.utils.Joiner', (args) => {
      const [separator = ', '] = bindArguments({ name: 'joiner', parameters: ['sep'], required: 0 }, args);
      return new Joiner(separator);
    }),
  ],
  ['lipsum', new BuiltinFunction(lipsum, 'function')],
]);
