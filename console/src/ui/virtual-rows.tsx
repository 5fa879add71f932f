// A long list of which only the visible rows exist. The page scrolls, not the list, so that
// keyboard and phones behave as usual. If the columns have no room, each row is a card.
import { Skeleton } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';

export interface Column<Row> {
  readonly name: string;
  /** A track of CSS grid, such as `minmax(0, 2fr)`. */
  readonly width: string;
  /** Null: the row has no such value. A dash stands in its column, and its card leaves it out. */
  readonly cell: (row: Row) => ReactNode;
  readonly isRight?: boolean;
  /** True: a card omits it. */
  readonly isWideOnly?: boolean;
  /**
   * The place on a card: its first line, or beside this line. Any other column is a named value
   * below.
   */
  readonly onCard?: 'title' | 'aside';
}

interface VirtualRowsProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Wraps the cells of a row, usually in a link. Gets the attributes that a row needs. */
  readonly renderRow: (row: Row, attributes: RowAttributes, cells: ReactNode) => ReactNode;
  /** Called when the end of the list comes into sight. */
  readonly onEnd?: (() => void) | undefined;
  readonly isLoadingMore?: boolean;
  /** Below this width rows are cards. */
  readonly minWidth?: number;
}

export interface RowAttributes {
  readonly className: string;
  readonly style?: { readonly gridTemplateColumns: string };
}

const rowHeight = 41;
/** A guess, until the card is drawn and measured. */
const cardHeight = 88;

export function VirtualRows<Row>(props: VirtualRowsProps<Row>) {
  const { label, rows, columns, keyOf, renderRow, onEnd, isLoadingMore = false, minWidth = 0 } = props;
  const place = useRef<HTMLUListElement>(null);
  const [{ top, width }, setPlace] = useState({ top: 0, width: minWidth });
  useLayoutEffect(() => {
    const measure = () => {
      const box = place.current?.getBoundingClientRect();
      if (box) setPlace(samePlace({ top: box.top + window.scrollY, width: box.width }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const areCards = width < minWidth;
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (areCards ? cardHeight : rowHeight),
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are others when rows become cards
  useLayoutEffect(() => virtual.measure(), [areCards]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 8) onEnd?.();
  }, [last, rows.length, onEnd]);

  const grid = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
  return (
    <div className="list">
      {!areCards && (
        <div className="list-head" aria-hidden="true" style={grid}>
          {columns.map(({ name, isRight }) => (
            <span key={name} className={isRight ? 'cell right' : 'cell'}>
              {name}
            </span>
          ))}
        </div>
      )}
      <ul
        ref={place}
        aria-label={label}
        onKeyDown={moveByArrows}
        style={{ position: 'relative', height: virtual.getTotalSize(), margin: 0, padding: 0, listStyle: 'none' }}
      >
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const kind = `list-row${areCards ? ' is-card' : ''}${item.index === rows.length - 1 ? ' is-last' : ''}`;
          return (
            <li
              key={item.key}
              // The height of a card depends on its text, and a row may unfold.
              ref={virtual.measureElement}
              data-index={item.index}
              aria-setsize={onEnd ? -1 : rows.length}
              aria-posinset={item.index + 1}
              style={{ position: 'absolute', top: item.start - top, left: 0, right: 0 }}
            >
              {areCards
                ? renderRow(row, { className: kind }, <CardCells row={row} columns={columns} />)
                : renderRow(row, { className: kind, style: grid }, <RowCells row={row} columns={columns} />)}
            </li>
          );
        })}
      </ul>
      {isLoadingMore && <SkeletonRows rows={3} />}
    </div>
  );
}

interface Place {
  readonly top: number;
  readonly width: number;
}

/** If the place did not change, nothing is drawn again. */
const samePlace =
  (next: Place) =>
  (former: Place): Place =>
    former.top === next.top && former.width === next.width ? former : next;

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
}

function RowCells<Row>({ row, columns }: CellsProps<Row>) {
  return columns.map(({ name, cell, isRight }) => (
    <span key={name} className={isRight ? 'cell right' : 'cell'}>
      {cell(row) ?? <span className="muted">–</span>}
    </span>
  ));
}

/** A card: the title and the state of a row, and below them its other values with their names. */
function CardCells<Row>({ row, columns }: CellsProps<Row>) {
  const title = columns.find(({ onCard }) => onCard === 'title') ?? columns[0];
  const aside = columns.find(({ onCard }) => onCard === 'aside');
  const values = columns.flatMap((column) => {
    const value = column === title || column === aside || column.isWideOnly ? null : column.cell(row);
    return value === null || value === undefined ? [] : [{ name: column.name, value }];
  });
  return (
    <>
      <span className="card-title">{title?.cell(row)}</span>
      {aside && <span>{aside.cell(row)}</span>}
      <span className="card-values">
        {values.map(({ name, value }) => (
          <span key={name}>
            <span className="muted">{name}</span> {value}
          </span>
        ))}
      </span>
    </>
  );
}

/** Placeholders for rows that are loading. */
export function SkeletonRows({ rows = 8 }: { rows?: number }) {
  return (
    <div aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div className="list-row is-skeleton" key={index} style={{ gridTemplateColumns: '2fr 1fr 1fr' }}>
          <Skeleton height={12} width="70%" />
          <Skeleton height={12} width="50%" />
          <Skeleton height={12} width="60%" />
        </div>
      ))}
    </div>
  );
}

/** The arrow keys move between the links of the rows. */
function moveByArrows(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a.list-row')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at + step];
  if (at === -1 || !next) return;
  event.preventDefault();
  next.focus();
}
