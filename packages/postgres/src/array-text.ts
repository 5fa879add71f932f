// Arrays as PostgreSQL writes them, of values that need no quotes, for parameters of hot
// statements. The driver passes such a text on unchanged and reads no value of it. Cast the
// parameter in the statement: `${bareArray(ids)}::uuid[]`.

/** An array of numbers or UUIDs, which need no quotes. */
export function bareArray(values: readonly (string | number | null)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) text += i === 0 ? String(values[i]) : `,${values[i]}`;
  return `${text}}`;
}
