/**
 * A thin line of daily values from zero. The text beside it has its content, so it is hidden from
 * screen readers.
 */
export function Sparkline({ values, tone = 'idle' }: { values: readonly number[]; tone?: 'good' | 'bad' | 'idle' }) {
  if (values.length < 2) return null;
  const width = 96;
  const height = 24;
  const most = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * width;
    const y = height - 1 - (value / most) * (height - 2);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      // Beside a long figure it gets narrower, and keeps its height and line width.
      preserveAspectRatio="none"
      aria-hidden="true"
      className={`only-wide tone-${tone}`}
    >
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
