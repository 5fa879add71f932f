// One webhook: whether it works, what its endpoint answered, and how to verify what it sends.
import { Button, Checkbox, Modal, Stack, Tabs, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import express from '../../../node/examples/express.ts?raw';
import fastify from '../../../node/examples/fastify.ts?raw';
import hono from '../../../node/examples/hono.ts?raw';
import next from '../../../node/examples/next.ts?raw';
import { webhookCan } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { EventKind, RotatedWebhook, Webhook } from '../api/objects.ts';
import { queryClient, queryOf, refresh } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { Attempts } from '../components/attempts.tsx';
import { toWallClock } from '../components/compose/message-form.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { FailureDots } from '../components/failure-dots.tsx';
import { FormFoot } from '../components/form-foot.tsx';
import { useIsLive } from '../components/live-feed.tsx';
import { Loaded } from '../components/loaded.tsx';
import { ProblemPanel } from '../components/problem.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { Status } from '../components/status.tsx';
import { useSave } from '../components/use-save.ts';
import { isGood, tellAnswer, webhookEvents } from '../components/webhook-text.ts';
import { count, formatExact } from '../format.ts';
import { WebhookForm } from '../forms/webhook.tsx';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CodeBlock, CopyableId } from '../ui/copy.tsx';
import { RelativeTime, useNow } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';

export function WebhookPage() {
  const app = useAppId();
  const { webhook = '' } = useParams();
  const isLive = useIsLive();
  const query = useQuery({ ...queryOf('getWebhook', { webhook }), refetchInterval: isLive ? false : 5000 });
  return <Loaded query={query}>{(data) => <Whole app={app} webhook={data} />}</Loaded>;
}

function Whole({ app, webhook }: { app: string; webhook: Webhook }) {
  const canEdit = useMay('webhook.edit');
  const attempts = useQuery(queryOf('listWebhookAttempts', { webhook: webhook.id })).data;
  const isNew = attempts?.data.length === 0;
  return (
    <>
      <div className="crumbs">
        <Link to={paths.webhooks(app)}>Webhooks</Link>
      </div>
      <Card
        title={webhook.endpoint}
        actions={
          canEdit.may ? <Actions app={app} webhook={webhook} /> : <span className="muted">{canEdit.reason}</span>
        }
      >
        <p className="headline" style={{ marginBottom: 16 }}>
          <Status status={webhook.state} />{' '}
          {isNew && webhook.state === 'enabled' ? 'Nothing has been sent to it yet.' : tellState(webhook)}
        </p>
        <Facts
          facts={[
            ['Id', <CopyableId key="id" id={webhook.id} />],
            ['Events', webhook.events.length === 0 ? 'All events' : webhook.events.join(', ')],
            ['Failures', <FailureDots key="dots" failures={webhook.consecutive_failures} />],
            ['Waiting events', String(webhook.held_events)],
            ['Made', <RelativeTime key="made" at={webhook.created_at} />],
          ]}
        />
      </Card>
      {canEdit.may && (
        <div className="grid-2">
          <TestCard app={app} webhook={webhook} />
          <RotationCard app={app} webhook={webhook} />
        </div>
      )}
      <Attempts app={app} webhook={webhook.id} />
      {canEdit.may && <ReplayCard webhook={webhook} />}
      <VerifyCard />
    </>
  );
}

function tellState({ state, consecutive_failures: failures, held_events: held }: Webhook): string {
  if (state === 'disabled') {
    const why = failures >= 15 ? '15 attempts in a row failed' : 'somebody disabled it';
    return `No request is made, because ${why}. ${count(held, 'event')} wait; each waits at most 72 hours.`;
  }
  if (failures > 0) return `The last ${count(failures, 'attempt')} failed. Retries go on; at 15 it is disabled.`;
  return 'No failure since the last answer of your server.';
}

function useReload(app: string, webhook: Webhook) {
  return async (after?: Webhook) => {
    if (after) queryClient.setQueryData(queryOf('getWebhook', { webhook: webhook.id }).queryKey, after);
    await refresh(['getWebhook', 'listWebhookAttempts'], { webhook: webhook.id });
    await refresh('listWebhooks', { app });
  };
}

function Actions({ app, webhook }: { app: string; webhook: Webhook }) {
  const navigate = useNavigate();
  const reload = useReload(app, webhook);
  const [isOpen, { open, close }] = useDisclosure(false);
  const remove = async () => {
    await call('deleteWebhook', { webhook: webhook.id });
    await refresh('listWebhooks', { app });
    await navigate(paths.webhooks(app));
  };
  return (
    <div className="row-actions">
      {webhookCan(webhook.state, 'enable') && (
        <ConfirmButton
          label="Enable"
          title="Enable this webhook?"
          effect={`One event is sent first, as a probe. When your server answers 2xx, the other ${count(webhook.held_events, 'waiting event')} follow.`}
          run={async () => reload(await call('enableWebhook', { webhook: webhook.id }))}
        />
      )}
      <Button variant="default" onClick={open}>
        Edit
      </Button>
      {webhookCan(webhook.state, 'disable') && (
        <ConfirmButton
          label="Disable"
          title="Disable this webhook?"
          effect="No request is made until it is enabled again. Events wait for 72 hours at most, then they are dropped."
          isDestructive
          run={async () => reload(await call('disableWebhook', { webhook: webhook.id }))}
        />
      )}
      <ConfirmButton
        label="Delete"
        title="Delete this webhook?"
        effect={`Its ${count(webhook.held_events, 'waiting event')} and its log go with it. Nothing tells your server of outcomes any more.`}
        isDestructive
        run={remove}
      />
      <Modal opened={isOpen} onClose={close} title="Edit the webhook" closeButtonProps={{ 'aria-label': 'Close' }}>
        <WebhookForm
          webhook={webhook}
          app={app}
          label="Save"
          save={(values, seen) => call('editWebhook', { webhook: webhook.id, body: { updated_at: seen, ...values } })}
          onSaved={async (after) => {
            close();
            await reload(after);
          }}
          onCancel={close}
        />
      </Modal>
    </div>
  );
}

function TestCard({ app, webhook }: { app: string; webhook: Webhook }) {
  const reload = useReload(app, webhook);
  const test = useMutation({
    mutationFn: () => call('testWebhook', { webhook: webhook.id }),
    onSuccess: () => reload(),
  });
  const last = test.data ?? webhook.last_test;
  return (
    <Card title="Test">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        Sends one signed request of the kind <span className="mono">webhook.test</span> and shows the answer here. It is
        not in the log below.
      </p>
      {last && (
        <p style={{ margin: '0 0 12px' }} role="status">
          <State tone={isGood(last) ? 'good' : 'bad'} mark={isGood(last) ? 'done' : 'failed'}>
            {isGood(last) ? 'Worked' : 'Failed'}
          </State>{' '}
          {tellAnswer(last)}{' '}
          <span className="muted">
            <RelativeTime at={last.at} />
          </span>
        </p>
      )}
      {test.error && <ProblemPanel error={test.error} />}
      <Button
        variant="default"
        mt={test.error ? 'sm' : 0}
        loading={test.isPending}
        onClick={() => test.mutate()}
        disabled={webhook.state === 'disabled'}
      >
        Send a test
      </Button>
      {webhook.state === 'disabled' && (
        <p className="muted" style={{ margin: '8px 0 0' }}>
          A disabled webhook is not called. Enable it first.
        </p>
      )}
    </Card>
  );
}

/** The service's limit for a rotation that finishes by itself. */
const rotationDaysMax = 30;

/** An instant in the form of a date and time field. */
const toField = (ms: number): string => toWallClock(new Date(ms).toISOString(), false);

function RotationCard({ app, webhook }: { app: string; webhook: Webhook }) {
  const reload = useReload(app, webhook);
  const [made, setMade] = useState<RotatedWebhook | null>(null);
  const nowMs = useNow();
  const { rotation } = webhook;
  // Null: like the waiting rotation, so that another secret changes nothing else.
  const [chosenDual, setDual] = useState<boolean | null>(null);
  const [chosenFinish, setFinishAt] = useState<string | null>(null);
  const isDual = chosenDual ?? rotation?.dual ?? false;
  // In the field's form, by the browser's clock. Empty: the rotation waits for a person.
  const finishAt = chosenFinish ?? (rotation?.finish_at ? toWallClock(rotation.finish_at, false) : '');
  const rotate = async () => {
    const rotated = await call('rotateWebhookSecret', {
      webhook: webhook.id,
      body: {
        dual: isDual,
        ...(finishAt !== '' && { finish_at: new Date(finishAt).toISOString() }),
      },
    });
    setMade(rotated);
    await reload();
  };
  const reset = () => {
    setFinishAt(null);
    setDual(null);
  };
  const finishesAt = made?.rotation?.finish_at ?? null;
  return (
    <Card title="Signing secret">
      {rotation ? (
        <p style={{ margin: '0 0 12px' }}>
          A new secret waits since <RelativeTime at={rotation.created_at} />. Requests are signed{' '}
          {rotation.dual ? 'with both secrets' : 'with the old secret alone'} until you finish
          {rotation.finish_at !== null && (
            <>
              , or by itself <RelativeTime at={rotation.finish_at} />
            </>
          )}
          .
        </p>
      ) : (
        <p className="muted" style={{ margin: '0 0 12px' }}>
          Rotating takes two steps: the new secret is shown first, and signs only when you finish. Nothing breaks in
          between.
        </p>
      )}
      <div className="row-actions">
        {rotation && (
          <ConfirmButton
            label="Finish the rotation"
            title="Finish the rotation?"
            effect="From now on the new secret alone signs, and the old one is erased. Your server must know the new secret already."
            run={async () => reload(await call('finishWebhookRotation', { webhook: webhook.id }))}
          />
        )}
        <ConfirmButton
          label={rotation ? 'Make another secret' : 'Rotate'}
          title="Make a new signing secret?"
          act="Make the new secret"
          effect={
            <Stack gap="sm">
              <span>
                {rotation && 'It takes the place of the secret that waits now. '}
                {rotation?.dual && 'A server that accepts only that secret refuses requests from then on. '}
                The old secret goes on signing until you finish the rotation, or until the time below.
              </span>
              <TextInput
                type="datetime-local"
                label="Finish by itself at"
                description={`At most ${rotationDaysMax} days from now. Empty: only when you finish it`}
                min={toField(nowMs)}
                max={toField(nowMs + rotationDaysMax * 86_400_000)}
                value={finishAt}
                onChange={({ currentTarget }) => setFinishAt(currentTarget.value)}
              />
              <Checkbox
                label="Sign with both until then"
                description="For receivers that accept any signature of the header"
                checked={isDual}
                onChange={({ currentTarget }) => setDual(currentTarget.checked)}
              />
            </Stack>
          }
          run={rotate}
          onClose={reset}
        />
      </div>
      <SecretOnce
        title="The new signing secret"
        text={`Give it to your server beside the old one, then finish the rotation. ${finishesAt === null ? '' : `It finishes by itself on ${formatExact(finishesAt)}. `}The secret is shown only once.`}
        secrets={made && [['New secret', made.secret]]}
        onClose={() => setMade(null)}
      />
    </Card>
  );
}

type ReplayValues = { from: string; to: string; events: readonly EventKind[] };

function ReplayCard({ webhook }: { webhook: Webhook }) {
  const form = useForm<ReplayValues>({ initialValues: { from: '', to: '', events: [] } });
  // The service refuses a kind to which the webhook is not subscribed.
  const kinds = webhookEvents.filter(([event]) => webhook.events.length === 0 || webhook.events.includes(event));
  const save = useSave({
    form,
    save: ({ from, to, events }) =>
      call('replayWebhook', {
        webhook: webhook.id,
        body: {
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
          // A kind that was chosen before the webhook was edited may have no box any more.
          events: events.filter((event) => kinds.some(([kind]) => kind === event)),
        },
      }),
    onSaved: ({ queued, queued_before, complete }) =>
      notifications.show({
        message: `${count(queued, 'event')} queued${queued_before > 0 ? `, ${count(queued_before, 'event')} before` : ''}${complete ? '' : '; the rest follows when you replay again'}.`,
      }),
  });
  return (
    <Card title="Replay">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        Sends the events of a time range again, also those that were delivered. Each has the header{' '}
        <span className="mono">service-replay</span>.
      </p>
      <form onSubmit={form.onSubmit(save.submit)} style={{ maxWidth: 560, display: 'grid', gap: 12 }}>
        <div style={{ display: 'flex', flexWrap: 'wrap', gap: 12, alignItems: 'start' }}>
          <TextInput label="From" type="datetime-local" step={1} required {...form.getInputProps('from')} />
          <TextInput label="To" type="datetime-local" step={1} required {...form.getInputProps('to')} />
        </div>
        {kinds.length > 1 && (
          <Checkbox.Group
            label="Events to replay"
            description="None chosen: all that the webhook hears"
            {...form.getInputProps('events')}
          >
            <Stack gap="xs" mt="xs">
              {kinds.map(([event, text]) => (
                <Checkbox key={event} value={event} label={text} />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        <FormFoot label="Replay" save={save} isDisabled={!webhookCan(webhook.state, 'replay')} />
      </form>
    </Card>
  );
}

const frameworks = [
  ['Express', express],
  ['Fastify', fastify],
  ['Hono', hono],
  ['Next.js', next],
] as const;

function VerifyCard() {
  return (
    <Card title="Verify the signature">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        The signature is over the bytes as they came. Read them before anything parses them.
      </p>
      <Tabs defaultValue="Express" keepMounted={false}>
        <Tabs.List mb="sm">
          {frameworks.map(([name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {frameworks.map(([name, code]) => (
          <Tabs.Panel key={name} value={name}>
            <CodeBlock label={`Verifying with ${name}`} code={code.trim()} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}
