/** Random cases are the same in each run, so that a change is judged by its own faults. `SEED=<number>` makes others. */
export function testSeed(): number {
  return Number(process.env['SEED'] ?? 1);
}

/** JSON numbers of up to 40 digits: integers, decimals with zeros at the end, exponents, and those around 2^53. */
export function randomNumbers(seed: number, count: number): string[] {
  const next = generator(seed);
  const digits = (most: number): string =>
    Array.from({ length: 1 + next(most) }, () => String(next(10))).join('');
  const whole = (most: number): string => digits(most).replace(/^0+(?=\d)/, '');
  return Array.from({ length: count }, () => {
    const sign = next(3) === 0 ? '-' : '';
    switch (next(6)) {
      case 0:
        return `${sign}${2n ** 53n + BigInt(next(9)) - 4n}`;
      case 1:
        return `${sign}${whole(20)}.${digits(20)}`;
      case 2:
        return `${sign}${whole(10)}.${digits(4)}${'0'.repeat(next(4))}`;
      case 3:
        return `${sign}${whole(15)}${next(2) ? `.${digits(10)}` : ''}${'eE'.charAt(next(2))}${['', '+', '-'][next(3)] ?? ''}${next(15)}`;
      default:
        return `${sign}${whole(40)}`;
    }
  });
}

/** Whole numbers from 0 to below the one given, the same for the same seed. */
export function generator(seed: number): (most: number) => number {
  let state = seed >>> 0;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}
