// Instants as the browser's own field for date and time has them: in the browser's zone, without an
// offset.

/** The text of the field for an instant; empty when there is none. */
export function toLocalInput(instant: unknown): string {
  const ms = typeof instant === 'string' ? Date.parse(instant) : Number.NaN;
  if (Number.isNaN(ms)) return '';
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The instant of the field's text in UTC; undefined when it is empty. */
export function fromLocalInput(text: string): string | undefined {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
