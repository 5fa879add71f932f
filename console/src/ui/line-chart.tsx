// Lines over time from zero, each named at its end, with different dashes as well as colours. Arrow
// keys and the pointer read one point. Screen readers get the table beside it.
import { useElementSize } from '@mantine/hooks';
import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { labelledPoints, spread, ticksUpTo } from './scale.ts';

type LineTone = 'good' | 'bad' | 'warn' | 'idle' | 'accent';

export interface Line {
  readonly name: string;
  readonly tone: LineTone;
  /** The dashes of a line, so that lines do not differ only by colour. */
  readonly dash?: 'solid' | 'dashed' | 'dotted' | 'long';
  /** One value for each point; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

interface LineChartProps {
  /** The content of the chart, for readers of the screen. */
  readonly label: string;
  readonly points: readonly string[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Short form for the axis. */
  readonly formatTick?: (value: number) => string;
  readonly height?: number;
  /** The point from which values may still change. */
  readonly provisionalFrom?: number | undefined;
}

const dashes = { solid: undefined, dashed: '6 4', dotted: '1.5 4', long: '12 4' } as const;
const foot = 24;
const top = 8;
const letter = 6.6;
/** Width of a letter in pixels: digits and currency signs are wider than most letters. */
const digit = 8;

export function LineChart({
  label,
  points,
  lines,
  format,
  formatTick = format,
  height = 220,
  provisionalFrom,
}: LineChartProps) {
  const { ref, width: measured } = useElementSize();
  const [read, setRead] = useState<number | null>(null);
  const width = Math.max(measured, 260);
  const all = lines.flatMap(({ values }) => values.map((value) => value ?? 0));
  const ticks = ticksUpTo(Math.max(0, ...all), all.every(Number.isInteger));
  const most = ticks.at(-1) ?? 1;
  const isNarrow = width < 480;
  const names = lines.map(({ name }) => name);
  const right = isNarrow ? 8 : Math.min(160, 16 + letter * Math.max(...names.map((name) => name.length)));
  const left = 8 + digit * Math.max(...ticks.map((tick) => formatTick(tick).length));
  const plotWidth = Math.max(40, width - left - right);
  const plotHeight = height - foot - top;
  const x = (i: number): number => left + (points.length < 2 ? plotWidth / 2 : (i / (points.length - 1)) * plotWidth);
  const y = (value: number): number => top + plotHeight * (1 - value / most);
  const ends = lines.map(({ values }) => {
    const last = values.findLastIndex((value) => value !== null);
    return { last, y: y(values[last] ?? 0) };
  });
  const endLabels = spread(
    ends.map((end) => end.y),
    15,
    height - foot,
  );
  const isRoomLeft = provisionalFrom !== undefined && x(provisionalFrom) - left > 120;
  const chosen = read !== null && read < points.length ? read : null;

  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') setRead(null);
    if (by === undefined || points.length === 0) return;
    event.preventDefault();
    setRead(Math.min(points.length - 1, Math.max(0, (chosen ?? (by > 0 ? -1 : points.length)) + by)));
  };
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const at = event.clientX - event.currentTarget.getBoundingClientRect().left - left;
    setRead(Math.min(points.length - 1, Math.max(0, Math.round((at / plotWidth) * (points.length - 1)))));
  };
  return (
    <div ref={ref} className="chart">
      {isNarrow && (
        <ul className="chart-names">
          {lines.map(({ name, tone, dash = 'solid' }) => (
            <li key={name}>
              <svg width="22" height="8" aria-hidden="true" className={`tone-${tone}`}>
                <line
                  x1="0"
                  x2="22"
                  y1="4"
                  y2="4"
                  stroke="currentColor"
                  strokeWidth="2"
                  strokeDasharray={dashes[dash]}
                />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      )}
      <svg
        width={width}
        height={height}
        // On paper the chart has the width of the paper, and its parts keep their places.
        viewBox={`0 0 ${width} ${height}`}
        style={{ maxWidth: '100%', height: 'auto' }}
        role="img"
        aria-label={`${label}. Arrow keys read its points; the table has all of them.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read the points of the chart.
        tabIndex={0}
        onKeyDown={step}
        onPointerMove={point}
        onPointerLeave={() => setRead(null)}
        onBlur={() => setRead(null)}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line
              x1={left}
              x2={left + plotWidth}
              y1={y(tick)}
              y2={y(tick)}
              className={tick === 0 ? 'chart-zero' : 'chart-tick'}
            />
            <text x={left - 6} y={y(tick) + 4} textAnchor="end" className="chart-text">
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {labelledPoints(points.length, Math.floor(plotWidth / 84)).map((i) => (
          <text
            key={i}
            x={x(i)}
            y={height - 6}
            textAnchor={points.length > 1 && i === 0 ? 'start' : i > 0 && i === points.length - 1 ? 'end' : 'middle'}
            className="chart-text"
          >
            {points[i]}
          </text>
        ))}
        {provisionalFrom !== undefined && (
          <g>
            <rect
              x={x(provisionalFrom) - (points.length > 1 ? 4 : plotWidth / 4)}
              y={top}
              width={points.length > 1 ? x(points.length - 1) - x(provisionalFrom) + 8 : plotWidth / 2}
              height={plotHeight}
              className="chart-open"
            />
            <text
              x={isRoomLeft ? x(provisionalFrom) - 10 : x(provisionalFrom) + 4}
              y={top + 12}
              textAnchor={isRoomLeft ? 'end' : 'start'}
              className="chart-text"
            >
              may still change
            </text>
          </g>
        )}
        {chosen !== null && (
          <line x1={x(chosen)} x2={x(chosen)} y1={top} y2={top + plotHeight} className="chart-guide" />
        )}
        {lines.map(({ name, tone, dash = 'solid', values }, n) => (
          <g key={name} className={`tone-${tone}`}>
            <path
              d={pathOf(values, x, y)}
              fill="none"
              stroke="currentColor"
              strokeWidth="1.75"
              strokeDasharray={dashes[dash]}
            />
            {values.map((value, i) =>
              value !== null && (i === chosen || isAlone(values, i)) ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: a point is known by its place.
                <circle key={i} cx={x(i)} cy={y(value)} r="3" fill="currentColor" />
              ) : null,
            )}
            {!isNarrow && (ends[n]?.last ?? -1) >= 0 && (
              <text
                x={x(points.length - 1) + 10}
                y={(endLabels[n] ?? 0) + 4}
                fill="currentColor"
                className="chart-name"
              >
                {name}
              </text>
            )}
          </g>
        ))}
      </svg>
      <div className="chart-reading" aria-live="polite">
        {chosen !== null && (
          <>
            <strong>{points[chosen]}</strong>
            {lines.map(({ name, tone, values }) => (
              <span key={name}>
                <span className={`tone-${tone}`}>{name}</span> {values[chosen] == null ? '–' : format(values[chosen])}
              </span>
            ))}
          </>
        )}
      </div>
    </div>
  );
}

function isAlone(values: readonly (number | null)[], i: number): boolean {
  return (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
}

function pathOf(values: readonly (number | null)[], x: (i: number) => number, y: (value: number) => number): string {
  let isDown = false;
  return values
    .map((value, i) => {
      const command = isDown ? 'L' : 'M';
      isDown = value !== null;
      return value === null ? '' : `${command}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join('');
}
