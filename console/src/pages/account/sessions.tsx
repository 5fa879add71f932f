// The browsers that are signed in, each of which can be signed out.

import { call } from '../../api/client.ts';
import { refresh, useAnswer, whole } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { tellBrowser } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { State } from '../../ui/state.tsx';

export function Sessions() {
  const sessions = useAnswer('listSessions', whole);
  return (
    <Card title="Sessions" isFlush>
      <Loaded query={sessions}>
        {({ data }) => (
          <ul className="rows">
            {data.map(({ id, is_present, user_agent, address, created_at, last_used_at }) => (
              <li key={id} className="row">
                <div className="row-main">
                  <span title={user_agent ?? undefined}>
                    {user_agent === null ? 'Unknown browser' : tellBrowser(user_agent)}
                  </span>{' '}
                  {is_present && <State tone="good" mark="done" text="This session" />}
                  <div className="muted">
                    {address} · signed in <RelativeTime at={created_at} /> · used <RelativeTime at={last_used_at} />
                  </div>
                </div>
                {!is_present && (
                  <ConfirmButton
                    label="End"
                    title="End this session?"
                    effect="The browser is signed out at once."
                    run={async () => {
                      await call('endSession', { session: id });
                      await refresh('listSessions');
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
