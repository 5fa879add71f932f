import type { ReactNode } from 'react';

export interface TableColumn<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers are aligned at the right, so that their digits are below each other. */
  readonly isNumber?: boolean;
  /** Text and code, which break if the table has no room. */
  readonly isLong?: boolean;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/**
 * A table that is short enough to be drawn completely. The first column names the row. If the
 * columns have no room, each row is a card.
 */
export function DataTable<Row>({ label, columns, rows, keyOf }: DataTableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long table scrolls by keys.
    <section className="data-table" tabIndex={0} aria-label={label}>
      <table>
        <caption className="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {columns.map(({ name, isNumber }) => (
              <th key={name} scope="col" className={isNumber ? 'right' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, isNumber, isLong }, i) =>
                i === 0 ? (
                  <th key={name} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} data-name={name} className={isNumber ? 'right' : isLong ? 'long' : undefined}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
