import type { ReactNode } from 'react';

interface PageHeadProps {
  readonly title: ReactNode;
  /** The main result in a sentence. Null: it is being read, and its line is kept free. */
  readonly answer?: ReactNode;
  readonly actions?: ReactNode;
  readonly above?: ReactNode;
}

/** The head of every page: its title, the main result in a sentence, and its acts. */
export function PageHead({ title, answer, actions, above }: PageHeadProps) {
  return (
    <header style={{ marginBottom: 20 }}>
      {above !== undefined && (
        <div className="crumbs" style={{ marginBottom: 4, fontSize: 13 }}>
          {above}
        </div>
      )}
      <div className="page-head">
        <h1 style={{ margin: 0, fontSize: 22, lineHeight: '30px', minWidth: 0 }}>{title}</h1>
        {answer !== undefined && <p className="headline">{answer ?? '\u00a0'}</p>}
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
    </header>
  );
}

/** Filters above a list. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <search style={{ display: 'flex', flexWrap: 'wrap', gap: 8, padding: '12px 16px', alignItems: 'end' }}>
      {children}
    </search>
  );
}
