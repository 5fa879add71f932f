// The arithmetic of templates (contract 7.3): exact decimal numbers, not doubles, so that 0.1 and
// 0.2 make 0.3. A value that is no number, a division by zero and a result over 40 digits give
// undefined, which renders as nothing. Pure.

/** `units` / 10^`scale`. */
interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

const scaleMax = 20;
const digitsMax = 40;

const numberForm = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;

function readDecimal(value: unknown): Decimal | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const [, sign = '', whole = '', fraction = '', power = '0'] = numberForm.exec(String(value).trim()) ?? [];
  if (whole + fraction === '') return undefined;
  const units = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
  return shifted({ units, scale: fraction.length - Number(power) });
}

/** The same number with a scale that is not negative. */
function shifted({ units, scale }: Decimal): Decimal {
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}

/** A quotient as a whole number. `toward` chooses between its two neighbours. */
type Toward = 'half' | 'floor' | 'ceil';

function quotient(dividend: bigint, divisor: bigint, toward: Toward): bigint {
  const [over, under] = divisor < 0n ? [-dividend, -divisor] : [dividend, divisor];
  const whole = over / under;
  const rest = over % under;
  const sign = over < 0n ? -1n : 1n;
  // Halves go away from zero, as people round.
  if (toward === 'half') return 2n * rest * sign >= under ? whole + sign : whole;
  if (toward === 'floor') return rest < 0n ? whole - 1n : whole;
  return rest > 0n ? whole + 1n : whole;
}

function rounded(number: Decimal, digits: number, toward: Toward): Decimal {
  if (number.scale <= digits) return number;
  return shifted({
    units: quotient(number.units, 10n ** BigInt(number.scale - digits), toward),
    scale: digits,
  });
}

/** A number where a double holds the result exactly; otherwise its digits as text. */
function resultOf(exact: Decimal): number | string | undefined {
  const { units, scale } = rounded(exact, scaleMax, 'half');
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  let fraction = digits.slice(digits.length - scale);
  while (fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  if (whole.length + fraction.length > digitsMax) return undefined;
  const text = `${units < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`;
  const double = Number(text);
  const again = readDecimal(double);
  if (again === undefined) return text;
  const most = Math.max(again.scale, scale);
  return unitsAt(again, most) === unitsAt({ units, scale }, most) ? double : text;
}

type Result = number | string | undefined;
type Binary = (left: Decimal, right: Decimal) => Decimal | undefined;

function binary(compute: Binary): (value: unknown, argument: unknown) => Result {
  return (value, argument) => {
    const [left, right] = [readDecimal(value), readDecimal(argument)];
    const exact = left && right && compute(left, right);
    return exact && resultOf(exact);
  };
}

function sum(left: Decimal, right: Decimal, sign: bigint): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { units: unitsAt(left, scale) + sign * unitsAt(right, scale), scale };
}

function toWhole(toward: Toward): (value: unknown) => Result {
  return (value) => {
    const number = readDecimal(value);
    return number && resultOf(rounded(number, 0, toward));
  };
}

/** The filters of templates that compute. */
export const arithmetic = {
  plus: binary((left, right) => sum(left, right, 1n)),
  minus: binary((left, right) => sum(left, right, -1n)),
  times: binary((left, right) => ({ units: left.units * right.units, scale: left.scale + right.scale })),
  divided_by: binary((left, right) => {
    if (right.units === 0n) return undefined;
    const dividend = left.units * 10n ** BigInt(scaleMax + right.scale);
    return { units: quotient(dividend, right.units * 10n ** BigInt(left.scale), 'half'), scale: scaleMax };
  }),
  floor: toWhole('floor'),
  ceil: toWhole('ceil'),
  /** Negative digits round to tens, hundreds and so on. */
  round: (value: unknown, digits: unknown = 0): Result => {
    const [number, places] = [readDecimal(value), readDecimal(digits)];
    if (!number || !places) return undefined;
    const wanted = Number(places.units / 10n ** BigInt(places.scale));
    return resultOf(rounded(number, Math.max(-digitsMax, Math.min(wanted, scaleMax)), 'half'));
  },
} as const;
