import { count } from '../format.ts';

const disablesAt = 15;

/** The number of failures in a row, as dots and in words. Fifteen disable a webhook. */
export function FailureDots({ failures }: { failures: number }) {
  return (
    <span className="failures">
      <span className="dots15" aria-hidden="true">
        {Array.from({ length: disablesAt }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a dot is its place
          <span key={index} className={index < failures ? 'dot15 is-failed' : 'dot15'} />
        ))}
      </span>
      <span className="muted">{tell(failures)}</span>
    </span>
  );
}

function tell(failures: number): string {
  if (failures === 0) return `No failures. ${disablesAt} in a row disable it.`;
  if (failures >= disablesAt) return `${disablesAt} failures in a row: it is disabled.`;
  return `${count(failures, 'failure')} in a row. ${disablesAt} disable it.`;
}
