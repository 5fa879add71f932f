// Amounts of money as people read them. The service answers exact decimals as text.

/**
 * An amount with the digits of its currency. The code of a currency that the browser does not know
 * follows the amount.
 */
export function formatMoney(amount: string | number, currency: string): string {
  return format(amount, currency, {});
}

/** An amount with all of its decimals, for tables. */
export function formatExactMoney(amount: string, currency: string): string {
  return format(amount, currency, { maximumFractionDigits: Math.max(2, amount.split('.')[1]?.length ?? 0) });
}

/** An amount in short, for an axis: `€1.2K`. */
export function formatShortMoney(amount: number, currency: string): string {
  return format(amount, currency, { notation: 'compact', maximumFractionDigits: 1 });
}

/** The exact sum of two amounts. */
export function addAmounts(one: string, other: string): string {
  const decimals = Math.max(decimalsOf(one), decimalsOf(other));
  const scaled = (amount: string): bigint =>
    BigInt(amount.replace('.', '') + '0'.repeat(decimals - decimalsOf(amount)));
  const sum = scaled(one) + scaled(other);
  const digits = String(sum < 0n ? -sum : sum).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  let end = digits.length;
  while (end > point && digits[end - 1] === '0') end--;
  return (sum < 0n ? '-' : '') + digits.slice(0, point) + (end > point ? `.${digits.slice(point, end)}` : '');
}

const decimalsOf = (amount: string): number => amount.split('.')[1]?.length ?? 0;

function format(amount: string | number, currency: string, options: Intl.NumberFormatOptions): string {
  // Text keeps decimals that a number would lose.
  const value = amount as unknown as number;
  try {
    return new Intl.NumberFormat(undefined, { ...options, style: 'currency', currency }).format(value);
  } catch {
    return `${new Intl.NumberFormat(undefined, options).format(value)} ${currency}`;
  }
}
