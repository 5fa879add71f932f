import type { ReactNode } from 'react';

/** Shown while there is nothing yet. Says what will be here and how to get it. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div style={{ padding: '32px 16px', maxWidth: 620, margin: '0 auto', textAlign: 'center' }}>
      <p style={{ margin: 0, fontWeight: 600 }}>{title}</p>
      {children !== undefined && (
        <div className="muted" style={{ marginTop: 4, textWrap: 'balance' }}>
          {children}
        </div>
      )}
      {action !== undefined && <div style={{ marginTop: 16, textAlign: 'start' }}>{action}</div>}
    </div>
  );
}
