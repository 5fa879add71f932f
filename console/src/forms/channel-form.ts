import type { Credential } from '../api/objects.ts';

/** The properties of the forms of all channels. */
export interface ChannelFormProps {
  readonly app: string;
  /** The credential that is there already, as it was when the form was opened. */
  readonly present: Credential | undefined;
  readonly onSaved: () => unknown;
  readonly onCancel: () => void;
}

/** The version that a save compares; null if there was no credential. */
export const seenOf = (seen: string): string | null => (seen === '' ? null : seen);
