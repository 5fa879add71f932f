// Exact decimals, as the database and JSON write them, for sums that no double can represent. Pure.

export interface Decimal {
  /** The value is `units / 10 ** scale`. */
  readonly units: bigint;
  readonly scale: number;
}

export const zero: Decimal = { units: 0n, scale: 0 };

const form = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * Reads a `numeric` as PostgreSQL writes it, or a number as JavaScript does. Throws for any other
 * text.
 */
export function parseDecimal(text: string): Decimal {
  const [, sign, whole, fraction = '', exponent = '0'] = form.exec(text) ?? [];
  if (whole === undefined) throw new Error(`'${text}' is not a decimal`);
  const digits = BigInt(whole + fraction);
  const units = sign === '-' ? -digits : digits;
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { units: -b.units, scale: b.scale });
}

/** With all decimal places, as PostgreSQL writes sums: `105.00`, `9.99`. */
export function writePlaces({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Without trailing zeros: `105`, `9.99`, `0`. */
export function writeDecimal(decimal: Decimal): string {
  const text = writePlaces(decimal);
  return decimal.scale === 0 ? text : text.replace(/(?:\.|(?<=[1-9]))0+$/, '');
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return scale === wanted ? units : units * 10n ** BigInt(wanted - scale);
}
