import pg from 'pg';
import { AppError } from '../../src/foundation/errors.js';

/** What may be thrown where a worker awaits something. */
export const ERRORS: readonly unknown[] = [
  new Error('a fault'),
  new TypeError("Cannot read properties of undefined (reading 'fault')"),
  new RangeError('Invalid array length'),
  new AppError('INTERNAL_ERROR', 'a fault'),
  new AppError('DATABASE_UNAVAILABLE', 'a fault'),
  databaseError('57P01'),
  databaseError('40P01'),
  databaseError('57014'),
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }),
  Object.freeze(new DOMException('a fault', 'AbortError')),
  'a text',
  undefined,
  null,
];

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('a fault', 0, 'error'), { code });
}

export interface Call {
  readonly name: string;
  readonly isAsync: boolean;
}

export interface Fault {
  /** The call throws at once, its promise rejects, or it does its work and then fails. */
  readonly when: 'throws' | 'rejects' | 'fails afterwards';
  readonly error: unknown;
  /** The number of the call from 0, or the name of all that fail. */
  readonly of: number | string;
}

/** Notes the calls of wrapped objects, and makes some of them fail. */
export class Faults {
  calls: Call[] = [];
  #fault: Fault | undefined;

  begin(fault?: Fault): void {
    this.calls = [];
    this.#fault = fault;
  }

  wrap<T extends object>(name: string, target: T): T {
    return new Proxy(target, {
      get: (_, property) => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]): unknown =>
          this.#run(`${name}.${String(property)}`, () => member.apply(target, args) as unknown);
      },
    });
  }

  #run(name: string, work: () => unknown): unknown {
    const index = this.calls.length;
    this.calls.push({ name, isAsync: false });
    const fault = this.#fault?.of === index || this.#fault?.of === name ? this.#fault : undefined;
    const fail = (): never => {
      throw fault?.error;
    };
    if (fault?.when === 'throws') fail();
    if (fault?.when === 'rejects') return Promise.resolve().then(fail);
    const result = work();
    if (!(result instanceof Promise)) {
      return fault ? fail() : result;
    }
    this.calls[index] = { name, isAsync: true };
    return fault ? result.then(fail) : result;
  }
}
