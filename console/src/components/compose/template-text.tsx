// A text that may hold values of the reader. `{{` or a button offers attributes and properties with
// samples, and asks for the default for people without a value.
import { ActionIcon, Button, Group, Popover, Textarea, TextInput, Tooltip } from '@mantine/core';
import { IconBraces } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useDeferred } from './use-deferred.ts';
import { type Variable, variablesLike } from './variables.ts';

interface TemplateTextProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly variables: readonly Variable[];
  readonly placeholder?: string | undefined;
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  /** Shown below the field: how many of its characters each screen shows. */
  readonly below?: ReactNode;
  readonly rows?: number;
  readonly maxLength: number;
}

export function TemplateText(props: TemplateTextProps) {
  const { label, value, onChange, variables, placeholder, error, description, below, rows = 1, maxLength } = props;
  const field = useDeferred(value, onChange);
  const input = useRef<HTMLTextAreaElement | HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<{ readonly from: number; readonly to: number } | null>(null);
  /** The list was opened by its button, so the focus goes into it. */
  const [isAsked, setAsked] = useState(false);
  const [prefix, setPrefix] = useState('');

  const onType = (text: string, caret: number) => {
    field.set(text);
    const open = /\{\{\s*([\w.]*)$/.exec(text.slice(0, caret));
    setRange(open ? { from: open.index, to: caret } : null);
    setAsked(false);
    setPrefix(open?.[1] ?? '');
  };
  const openAtCaret = () => {
    const at = input.current?.selectionStart ?? field.text.length;
    setPrefix('');
    setAsked(true);
    setRange({ from: at, to: input.current?.selectionEnd ?? at });
  };
  const insert = (tag: string) => {
    if (!range) return;
    const text = field.text.slice(0, range.from) + tag + field.text.slice(range.to);
    const caret = range.from + tag.length;
    field.set(text);
    setRange(null);
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(caret, caret);
    });
  };
  const close = () => setRange(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close();
    if (event.key !== 'ArrowDown' || range === null) return;
    event.preventDefault();
    list.current?.querySelector<HTMLElement>(option)?.focus();
  };
  const closeFromList = () => {
    close();
    input.current?.focus();
  };
  const common = {
    label,
    value: field.text,
    onBlur: field.settle,
    onKeyDown,
    maxLength,
    placeholder,
    error,
    description,
    rightSection: (
      <Tooltip label="Insert a value">
        <ActionIcon variant="subtle" color="gray" aria-label={`Insert a value into ${label}`} onClick={openAtCaret}>
          <IconBraces size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
    ),
  };
  return (
    <div>
      <Popover
        opened={range !== null}
        onChange={(isOpen) => !isOpen && close()}
        position="bottom-start"
        width={340}
        withRoles={false}
      >
        <Popover.Target>
          <div>
            {rows === 1 ? (
              <TextInput
                {...common}
                ref={input as React.Ref<HTMLInputElement>}
                onChange={({ currentTarget: { value: text, selectionStart } }) =>
                  onType(text, selectionStart ?? text.length)
                }
              />
            ) : (
              <Textarea
                {...common}
                // The button stands beside the first line.
                rightSectionProps={{ style: { alignItems: 'start', paddingTop: 4 } }}
                rows={rows}
                ref={input as React.Ref<HTMLTextAreaElement>}
                onChange={({ currentTarget: { value: text, selectionStart } }) => onType(text, selectionStart)}
              />
            )}
          </div>
        </Popover.Target>
        <Popover.Dropdown p="xs" ref={list}>
          {range !== null && (
            <ValueMenu
              variables={variables}
              prefix={prefix}
              isFocused={isAsked}
              onInsert={insert}
              onClose={closeFromList}
            />
          )}
        </Popover.Dropdown>
      </Popover>
      {below}
    </div>
  );
}

interface ValueMenuProps {
  readonly variables: readonly Variable[];
  readonly prefix: string;
  /** True: the focus goes to the first value. */
  readonly isFocused: boolean;
  readonly onInsert: (tag: string) => void;
  readonly onClose: () => void;
}

const option = '.value-option';

/** Arrow keys move between the values, and Escape leads back to the text. */
function moveInList(event: KeyboardEvent<HTMLElement>, onClose: () => void): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') onClose();
  if (by === undefined) return;
  event.preventDefault();
  const values = [...event.currentTarget.querySelectorAll<HTMLElement>(option)];
  const at = values.indexOf(document.activeElement as HTMLElement);
  if (at + by < 0) onClose();
  else values[Math.min(at + by, values.length - 1)]?.focus();
}

function ValueMenu({ variables, prefix, isFocused, onInsert, onClose }: ValueMenuProps) {
  const headingId = useId();
  const [chosen, setChosen] = useState<Variable | null>(null);
  const [fallback, setFallback] = useState('');
  const values = useRef<HTMLUListElement>(null);
  const [isInside, setInside] = useState(isFocused);
  useEffect(() => {
    if (isInside && chosen === null) values.current?.querySelector<HTMLElement>(option)?.focus();
  }, [isInside, chosen]);
  const shown = variablesLike(variables, prefix);
  if (chosen) {
    // A quote of the other kind may stand inside the text.
    const quote = fallback.includes("'") ? '"' : "'";
    const isQuotable = !fallback.includes(quote);
    const tag = fallback === '' ? `{{${chosen.name}}}` : `{{${chosen.name} | default: ${quote}${fallback}${quote}}}`;
    const submit = () => isQuotable && onInsert(tag);
    return (
      <div className="stack" style={{ gap: 8 }}>
        <TextInput
          label={`Instead of ${chosen.name}, for those who have none`}
          description={fallback === '' ? 'Empty: nothing stands there for them' : undefined}
          error={isQuotable ? undefined : 'Use one kind of quotes only.'}
          value={fallback}
          maxLength={200}
          data-autofocus
          autoFocus
          onChange={({ currentTarget }) => setFallback(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            submit();
          }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" size="xs" onClick={() => setChosen(null)}>
            Back
          </Button>
          <Button size="xs" onClick={submit} disabled={!isQuotable}>
            Insert
          </Button>
        </Group>
      </div>
    );
  }
  return (
    <div>
      <p id={headingId} role="status" className="muted" style={{ margin: '0 8px 4px', fontSize: 12 }}>
        A value of each user{!isInside && '. The key ↓ goes to the list.'}
      </p>
      <ul
        ref={values}
        aria-labelledby={headingId}
        className="value-list"
        onKeyDown={(event) => moveInList(event, onClose)}
      >
        {shown.map((variable) => (
          <li key={variable.name}>
            <button
              type="button"
              className="value-option"
              onClick={() => {
                setInside(true);
                setChosen(variable);
              }}
            >
              <span className="mono">{variable.name}</span>
              {variable.samples.length > 0 && (
                <span className="muted cell">such as {variable.samples.map(String).join(', ')}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && (
        <p className="muted" style={{ margin: '4px 8px' }}>
          No attribute or property begins so.
        </p>
      )}
      <Button variant="subtle" size="compact-xs" color="gray" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}
