// The second factor: set up, turned off, and its recovery codes.
import { PasswordInput, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { SecondFactor as MadeFactor, OwnPassword } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { Form } from '../../components/form.tsx';
import { showOnce } from '../../components/secret-once.tsx';
import { useSave } from '../../components/use-save.ts';
import { Card } from '../../ui/card.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { State } from '../../ui/state.tsx';

const showCodes = async (codes: readonly string[]) => {
  await showOnce({
    title: 'Recovery codes',
    text: 'Each of these codes signs you in once, if the app is lost. They are shown only once.',
    secrets: [['Recovery codes', codes.join('\n')]],
  });
  await refresh('getSession');
};

export function SecondFactor({ isOn }: { isOn: boolean }) {
  return (
    <Card title="Second factor">
      <p style={{ margin: '0 0 12px' }}>
        <State tone={isOn ? 'good' : 'warn'} mark={isOn ? 'done' : 'alert'} text={isOn ? 'On' : 'Off'} />{' '}
        {isOn
          ? 'Signing in asks for a code of your authenticator app.'
          : 'Anybody who learns your password could sign in.'}
      </p>
      {isOn ? (
        <div className="row-actions">
          <PasswordAct
            label="New recovery codes"
            title="Make new recovery codes?"
            effect="The codes that you have stop working at once."
            act={(body) => call('renewRecoveryCodes', { body })}
            onDone={({ recovery_codes }) => showCodes(recovery_codes)}
          />
          <PasswordAct
            label="Turn off"
            title="Turn the second factor off?"
            effect="From then on the password alone signs you in. Your recovery codes stop working."
            act={(body) => call('removeSecondFactor', { body })}
            onDone={() => refresh('getSession')}
          />
        </div>
      ) : (
        <Dialog label="Set up a second factor" title="Set up a second factor" variant="filled" width="lg">
          {(close) => <SetUp onDone={close} />}
        </Dialog>
      )}
    </Card>
  );
}

function SetUp({ onDone }: { onDone: () => void }) {
  const [setup, setSetup] = useState<MadeFactor | null>(null);
  const first = useForm({ initialValues: { password: '' } });
  const begin = useSave({ form: first, save: (body) => call('beginSecondFactor', { body }), onSaved: setSetup });
  const second = useForm({ initialValues: { code: '' } });
  const confirm = useSave({
    form: second,
    save: ({ code }) => call('confirmSecondFactor', { body: { code: code.replaceAll(' ', '') } }),
    onSaved: () => {
      onDone();
      void showCodes(setup?.recovery_codes ?? []);
    },
  });
  if (!setup) {
    return (
      <Form of={begin} label="Go on" onCancel={onDone}>
        <OwnPasswordInput form={first} />
      </Form>
    );
  }
  return (
    <Form of={confirm} label="Turn it on" onCancel={onDone}>
      <p style={{ margin: 0 }}>
        Scan the code with an authenticator app, or type the secret there. On this very phone,{' '}
        <a href={setup.uri}>open it in the app</a>.
      </p>
      <QrCode text={setup.uri} label="The secret for a camera" size={200} />
      <CodeBlock label="Secret" code={secretOf(setup.uri)} isWrapped />
      <TextInput
        label="Code"
        description="The six digits that the app shows now"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        {...second.getInputProps('code')}
      />
    </Form>
  );
}

function OwnPasswordInput({ form }: { form: UseFormReturnType<OwnPassword> }) {
  return (
    <PasswordInput
      label="Your password"
      autoComplete="current-password"
      required
      data-autofocus
      {...form.getInputProps('password')}
    />
  );
}

/** The secret within the address that authenticator apps read, for typing it by hand. */
function secretOf(uri: string): string {
  return new URL(uri).searchParams.get('secret') ?? uri;
}

interface PasswordActProps<Answer> {
  readonly label: string;
  readonly effect: string;
  readonly act: (body: OwnPassword) => Promise<Answer>;
  readonly onDone: (answer: Answer) => unknown;
}

/** An act for which the password is asked again. */
function PasswordAct<Answer>({ title, ...act }: PasswordActProps<Answer> & { readonly title: string }) {
  return (
    <Dialog label={act.label} title={title}>
      {(close) => <PasswordForm {...act} onClose={close} />}
    </Dialog>
  );
}

function PasswordForm<Answer>(props: PasswordActProps<Answer> & { readonly onClose: () => void }) {
  const { label, effect, act, onDone, onClose } = props;
  const form = useForm({ initialValues: { password: '' } });
  const onSaved = (answer: Answer) => {
    onClose();
    void onDone(answer);
  };
  return (
    <Form of={useSave({ form, save: act, onSaved })} label={label} onCancel={onClose}>
      <p style={{ margin: 0 }}>{effect}</p>
      <OwnPasswordInput form={form} />
    </Form>
  );
}
