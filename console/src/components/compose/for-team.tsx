// Name and metadata of the message: for the team and its programs, never for a device.
import { Pairs, PlainText } from './field-input.tsx';
import type { Fields } from './message-form.ts';

interface ForTeamProps {
  readonly name: string;
  readonly metadata: Fields | null | undefined;
  readonly error: string | undefined;
  readonly onName: (name: string) => void;
  readonly onMetadata: (metadata: Fields | null) => void;
}

export function ForTeam({ name, metadata, error, onName, onMetadata }: ForTeamProps) {
  return (
    <div className="stack" style={{ gap: 12 }}>
      <PlainText
        label="Name"
        description="For your team and for search; nobody else sees it"
        value={name}
        maxLength={128}
        onChange={onName}
      />
      <Pairs
        label="Metadata"
        description="One a line: key = value. Webhooks and reports repeat it"
        placeholder="campaign = autumn-26"
        value={metadata}
        error={error}
        onChange={(pairs) => onMetadata((pairs as Fields | undefined) ?? null)}
      />
    </div>
  );
}
