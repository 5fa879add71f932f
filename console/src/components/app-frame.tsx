// The frame around the pages of one app. It says when the app is not there, and when it is a test
// app.
import { Suspense } from 'react';
import { Outlet } from 'react-router';
import { useAnswer } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { RelativeTime } from '../ui/relative-time.tsx';
import { LiveFeed } from './live-feed.tsx';
import { Loaded } from './loaded.tsx';

export function AppFrame() {
  const appId = useAppId();
  const app = useAnswer('getApp', { app: appId });
  return (
    <Loaded query={app}>
      {({ is_test, suspended_at }) => (
        <LiveFeed appId={appId}>
          {is_test && <TestStripe />}
          {suspended_at !== null && (
            <div className="notice bad" role="status" style={{ borderRadius: 8, marginBottom: 16 }}>
              <strong>This app is suspended</strong>
              <span>
                since <RelativeTime at={suspended_at} />. Its keys answer 403, nothing is sent, and webhook events wait.
              </span>
            </div>
          )}
          <Suspense>
            <Outlet />
          </Suspense>
        </LiveFeed>
      )}
    </Loaded>
  );
}

/** An app whose channels point at a sandbox must not be mistaken for one that reaches people. */
function TestStripe() {
  return (
    <div className="test-stripe" role="note">
      <strong>Test app.</strong> A channel of it sends to a sandbox, which rings no phone of a customer.
    </div>
  );
}
