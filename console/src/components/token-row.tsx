// An operator token as a row, with the button that revokes it.
import { roleNames } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { Token } from '../api/objects.ts';
import { refresh } from '../api/queries.ts';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import { tellAuthor } from './author.ts';
import { ConfirmButton } from './confirm.tsx';

/** `onRevoked`: called instead of reloading the list of tokens. */
export function TokenRow({ token, onRevoked }: { token: Token; onRevoked?: () => void }) {
  return (
    <li className="row">
      <div className="row-main">
        <strong style={{ fontWeight: 500 }}>{token.name}</strong> <span className="muted">{roleNames[token.role]}</span>{' '}
        {token.is_orphaned && <State tone="warn" mark="alert" text="Its maker is no owner any more" />}
        <div className="muted">
          <span className="mono">
            {token.start}…{token.last4}
          </span>{' '}
          · made <RelativeTime at={token.created_at} /> by {tellAuthor(token.created_by)} · last used{' '}
          <RelativeTime at={token.last_used_at} none="never" />
        </div>
      </div>
      <ConfirmButton
        label="Revoke"
        title={`Revoke ${token.name}?`}
        effect="Scripts with this token are refused at once."
        isDestructive
        run={async () => {
          await call('revokeToken', { token: token.id });
          onRevoked?.();
          await refresh('listTokens');
        }}
      />
    </li>
  );
}
