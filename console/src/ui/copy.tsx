// Texts to copy: an id by clicking it, a block of code by its button.
import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

interface CopyableIdProps {
  readonly id: string;
  /** True: the id is already shown beside the button, as a link to its object. */
  readonly isIconAlone?: boolean;
}

/** An id in full. A click copies it. */
export function CopyableId({ id, isIconAlone = false }: CopyableIdProps) {
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <button type="button" className="copy-id mono" onClick={copy} aria-label={`Copy ${id}`}>
            {!isIconAlone && id}
            {copied ? <IconCheck size={13} aria-hidden /> : <IconCopy size={13} aria-hidden className="muted" />}
          </button>
        </Tooltip>
      )}
    </CopyButton>
  );
}

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
  /**
   * True: long lines break instead of scrolling, for text of any length such as an answer's body. A
   * command of one line always breaks, because its end matters as much as its beginning.
   */
  readonly isWrapped?: boolean;
}

export function CodeBlock({ code, label, isWrapped = !code.includes('\n') }: CodeBlockProps) {
  return (
    <section className={isWrapped ? 'code is-wrapped' : 'code'} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{isWrapped ? <Wrapped code={code} /> : code}</code>
      </pre>
      <CopyButton value={code}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon className="code-copy" variant="subtle" color="gray" onClick={copy} aria-label={`Copy ${label}`}>
              {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </section>
  );
}

/**
 * A line may break at any hyphen, and `--` at the end of a line would read as a separate argument.
 */
function Wrapped({ code }: { code: string }) {
  return code.split(/(--[a-z][a-z-]*)/).map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is known by its place.
      <span key={index} style={{ whiteSpace: 'nowrap' }}>
        {part}
      </span>
    ) : (
      part
    ),
  );
}
