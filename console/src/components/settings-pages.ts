// The pages of Settings, for its navigation and for the palette.
import type { Act } from '../api/can.ts';
import { paths } from '../paths.ts';

interface SettingsPage {
  readonly name: string;
  readonly path: (app: string) => string;
  readonly needs?: Act;
}

export const settingsPages: readonly SettingsPage[] = [
  { name: 'Keys', path: paths.settings, needs: 'key.edit' },
  { name: 'Channels', path: paths.channels },
  { name: 'Webhooks', path: paths.webhooks },
  { name: 'Identity', path: paths.identity },
  { name: 'Plan and usage', path: paths.usage, needs: 'plan.edit' },
  { name: 'Client events', path: paths.clientEvents, needs: 'app.edit' },
  { name: 'General', path: paths.general, needs: 'app.edit' },
  { name: 'Audit', path: paths.audit, needs: 'audit.read' },
  { name: 'Danger zone', path: paths.danger, needs: 'app.suspend' },
];
