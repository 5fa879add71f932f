// The acts that stop or end an app.
import { notifications } from '@mantine/notifications';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import { ofApp, queryClient, refresh } from '../api/queries.ts';
import { useApp } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { count } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';

export function Danger() {
  const app = useApp();
  const navigate = useNavigate();
  const remove = async () => {
    const { devices, users, messages } = await call('deleteApp', { app: app.id, body: { name: app.name } });
    queryClient.removeQueries(ofApp(app.id));
    await refresh('listApps');
    notifications.show({
      message: `${app.name} is deleted. ${count(devices, 'device')}, ${count(users, 'user')} and ${count(messages, 'message')} are being deleted in the background.`,
    });
    await navigate(paths.home);
  };
  return (
    <Card title="Danger zone" isFlush>
      <ul className="rows">
        {app.suspended_at === null ? (
          <li className="row">
            <div className="row-main">
              <strong>Suspend this app</strong>
              <div className="muted">
                Within two seconds its keys are refused and messages stop being sent. Webhook events wait until you
                resume the app.
              </div>
            </div>
            <ConfirmButton
              label="Suspend"
              title={`Suspend ${app.name}?`}
              effect="Every request with a key of this app is refused, and messages that are being sent end where they are. You can resume the app; what was not sent stays unsent."
              isDestructive
              run={async () => {
                await call('suspendApp', { app: app.id });
                await refresh('getApp', { app: app.id });
              }}
            />
          </li>
        ) : (
          <li className="row">
            <div className="row-main">
              <strong>Resume this app</strong>
              <div className="muted">Its keys work again within two seconds, and waiting webhook events go out.</div>
            </div>
            <ConfirmButton
              label="Resume"
              title={`Resume ${app.name}?`}
              effect="Keys work again, and webhook events that wait are sent."
              run={async () => {
                await call('resumeApp', { app: app.id });
                await refresh('getApp', { app: app.id });
              }}
            />
          </li>
        )}
        <li className="row">
          <div className="row-main">
            <strong>Delete this app</strong>
            <div className="muted">
              Its keys stop working. Its devices, users, messages and events are deleted in the background.
            </div>
          </div>
          <ConfirmButton
            label="Delete"
            title={`Delete ${app.name}?`}
            typed={app.name}
            act="Delete for ever"
            effect="Its keys, channels, webhooks, devices, users, messages, events and reports are deleted. The audit still shows that the app existed. This cannot be undone."
            isDestructive
            run={remove}
          />
        </li>
      </ul>
    </Card>
  );
}
