// A choice among few options, all visible.
import { Radio, Stack } from '@mantine/core';

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly note?: string }[];
  readonly onChange: (value: Value) => void;
}

export function Choice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <Radio.Group label={label} value={value} onChange={(next) => onChange(next as Value)}>
      <Stack gap={6} mt={4}>
        {options.map((option) => (
          <Radio key={option.value} value={option.value} label={option.label} description={option.note} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
