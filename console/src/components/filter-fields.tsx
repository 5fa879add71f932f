// The fields above a list. A text filter waits for a pause in typing before it asks the service.
import { Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

const typingPauseMs = 200;

interface FieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | null) => void;
}

export function SearchField({ label, value, onChange, placeholder }: FieldProps & { placeholder: string }) {
  const [text, setText] = useState(value ?? '');
  const later = useDebouncedCallback(onChange, typingPauseMs);
  return (
    <TextInput
      type="search"
      label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={15} aria-hidden />}
      value={text}
      maxLength={128}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        later(currentTarget.value);
      }}
      style={{ flex: '1 1 220px', maxWidth: 360 }}
    />
  );
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly (readonly [value: string, name: string])[];
  readonly all: string;
}

export function ChoiceField({ label, value, onChange, choices, all }: ChoiceProps) {
  return (
    <Select
      label={label}
      data={[{ value: '', label: all }, ...choices.map(([each, name]) => ({ value: each, label: name }))]}
      value={value ?? ''}
      onChange={(chosen) => onChange(chosen || null)}
      style={{ flex: '1 1 140px', maxWidth: 200 }}
    />
  );
}
