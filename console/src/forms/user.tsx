// The profile of a user: the attributes that every app has, and the properties of this one, each
// with the input of its type.
import { ActionIcon, NumberInput, Select, TextInput, Tooltip } from '@mantine/core';
import { IconArrowBackUp, IconTrash } from '@tabler/icons-react';
import { Link } from 'react-router';
import { call } from '../api/client.ts';
import type { CataloguedProperty, EditedUser, User } from '../api/objects.ts';
import { Form } from '../components/form.tsx';
import { propertyTypeNames } from '../components/property-text.ts';
import { type Draft, editing } from '../components/use-draft.ts';
import { useEditForm } from '../components/use-edit-form.ts';
import { editOf, fieldOf, keysOf, typeOf, type UserValues, valuesOf } from '../components/user-values.ts';
import { zonesWith } from '../format.ts';
import { paths } from '../paths.ts';

interface UserFormProps {
  readonly app: string;
  readonly user: User;
  readonly onSaved: (user: EditedUser) => unknown;
  readonly onCancel: () => void;
}

export function UserForm({ app, user, onSaved, onCancel }: UserFormProps) {
  const edit = useEditForm({
    app,
    name: `user ${app} ${user.external_id}`,
    ...editing(user, valuesOf),
    send: (base, values, seen) =>
      call('editUser', { app, external_id: user.external_id, body: editOf(base, values, seen) }),
    onSaved,
  });
  const { form } = edit;
  return (
    <Form of={edit} label="Save" onCancel={onCancel} isDisabled={!form.isDirty()}>
      <TextInput label="First name" maxLength={128} data-autofocus {...form.getInputProps('first_name')} />
      <TextInput
        label="Country"
        description="Two letters, such as DE"
        maxLength={2}
        {...form.getInputProps('country')}
      />
      <TextInput
        label="Language"
        description="A tag such as de or pt-BR; it chooses the language of a message"
        maxLength={35}
        {...form.getInputProps('language')}
      />
      <TimeZoneSelect form={form} description="Sends at a local time follow it" />
      <OwnProperties app={app} edit={edit} />
    </Form>
  );
}

/** The field `timezone` of the form of a user or a device. */
export function TimeZoneSelect({ form, description }: { form: Draft<UserValues>['form']; description: string }) {
  const zone = form.values['timezone'];
  return (
    <Select
      label="Time zone"
      description={description}
      placeholder="Not known"
      searchable
      clearable
      limit={40}
      data={zonesWith(String(zone ?? ''))}
      {...form.getInputProps('timezone')}
      value={typeof zone === 'string' && zone !== '' ? zone : null}
      onChange={(value) => form.setFieldValue('timezone', value ?? '')}
    />
  );
}

const first = { string: '', number: 0, boolean: true } as const;

/** The properties of a user, or those that a device has of its own. */
export function OwnProperties({ app, edit }: { app: string; edit: ReturnType<typeof useEditForm> }) {
  const { form, catalog, draft } = edit;
  const keys = keysOf(form.values);
  const others = catalog.filter(({ key, field }) => field === `properties.${key}` && !keys.includes(key));
  const none = keys.length > 0 ? 'No other property' : 'No property yet';
  return (
    <fieldset className="own-properties">
      <legend>Properties</legend>
      {keys.map((key) => (
        <OneProperty key={key} name={key} catalog={catalog} form={form} before={draft.base[fieldOf(key)]} />
      ))}
      <Select
        label="Add a property"
        placeholder={others.length > 0 ? 'Choose a property' : none}
        description={
          <>
            New ones are declared under <Link to={paths.properties(app)}>Properties</Link>.
          </>
        }
        searchable
        disabled={others.length === 0}
        data={others.map(({ key, type }) => ({
          value: key,
          label: `${key} (${propertyTypeNames[type].toLowerCase()})`,
        }))}
        value={null}
        onChange={(key) => {
          const chosen = others.find((each) => each.key === key);
          if (chosen) form.setFieldValue(fieldOf(chosen.key), first[chosen.type]);
        }}
      />
    </fieldset>
  );
}

interface OnePropertyProps {
  readonly name: string;
  readonly catalog: readonly CataloguedProperty[];
  readonly form: Draft<UserValues>['form'];
  readonly before: UserValues[string] | undefined;
}

function OneProperty({ name, catalog, form, before }: OnePropertyProps) {
  const field = fieldOf(name);
  const value = form.values[field] ?? null;
  const type = typeOf(name, value ?? before, catalog);
  const isRemoved = value === null;
  const label = `${name} (${propertyTypeNames[type].toLowerCase()})`;
  const error = form.errors[field];
  const input = isRemoved ? (
    <TextInput label={label} value="" placeholder="Removed when you save" disabled error={error} />
  ) : type === 'number' ? (
    <NumberInput
      label={label}
      value={typeof value === 'boolean' ? '' : value}
      error={error}
      onChange={(next) => form.setFieldValue(field, next)}
    />
  ) : type === 'boolean' ? (
    <Select
      label={label}
      data={[
        { value: 'true', label: 'Yes' },
        { value: 'false', label: 'No' },
      ]}
      value={String(value)}
      error={error}
      onChange={(next) => form.setFieldValue(field, next === 'true')}
    />
  ) : (
    <TextInput
      label={label}
      value={String(value)}
      error={error}
      onChange={({ currentTarget }) => form.setFieldValue(field, currentTarget.value)}
    />
  );
  const act = isRemoved ? `Put ${name} back` : `Remove ${name}`;
  return (
    <div className="own-property">
      <div style={{ flex: 1, minWidth: 0 }}>{input}</div>
      <Tooltip label={act}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={36}
          aria-label={act}
          onClick={() => form.setFieldValue(field, isRemoved ? (before ?? first[type]) : null)}
        >
          {isRemoved ? <IconArrowBackUp size={16} aria-hidden /> : <IconTrash size={16} aria-hidden />}
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
