import { type ReactNode, useId } from 'react';

interface CardProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** True: the content reaches the edges, as lists do. */
  readonly isFlush?: boolean;
  /** False: the card is not printed. */
  readonly isPrinted?: boolean;
}

/** One surface with a heading. */
export function Card({ title, actions, children, isFlush = false, isPrinted = true }: CardProps) {
  const id = useId();
  return (
    <section className={isPrinted ? 'card' : 'card no-print'} {...(title !== undefined && { 'aria-labelledby': id })}>
      {(title !== undefined || actions !== undefined) && (
        <div className="card-head">
          {title !== undefined && (
            <h2 id={id} style={{ margin: 0, fontSize: 15 }}>
              {title}
            </h2>
          )}
          {actions}
        </div>
      )}
      <div className={isFlush ? 'card-body flush' : 'card-body'}>{children}</div>
    </section>
  );
}

/** Names and values of one object. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>{name}</dt>
          <dd>{value ?? <span className="muted">–</span>}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** The few main figures of a page. */
export function Figures({ figures }: { figures: readonly FigureProps[] }) {
  return (
    <dl className="figures" style={{ margin: 0 }}>
      {figures.map(({ name, value, note }) => (
        <div className="figure" key={name}>
          <dt className="muted">{name}</dt>
          <dd className="figure-value" style={{ margin: 0 }}>
            {value}
          </dd>
          {note !== undefined && (
            <dd className="muted" style={{ margin: 0, fontSize: 12 }}>
              {note}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
