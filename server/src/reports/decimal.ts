// Exact decimals, as the database writes them: for sums that no double holds. Pure.

export interface Decimal {
  /** The value is `units / 10 ** scale`. */
  readonly units: bigint;
  readonly scale: number;
}

export const zero: Decimal = { units: 0n, scale: 0 };

const form = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Reads a decimal without an exponent, which PostgreSQL never writes for a `numeric`; throws for anything else. */
export function parseDecimal(text: string): Decimal {
  const [, sign, whole, fraction = ''] = form.exec(text) ?? [];
  if (whole === undefined) throw new Error(`'${text}' is not a decimal`);
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: fraction.length };
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { units: -b.units, scale: b.scale });
}

/** Without trailing zeros: `105`, `9.99`, `0`. */
export function writeDecimal({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}
