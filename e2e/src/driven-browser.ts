// What a test does with a browser, the same for both: pages found by role and label, as a user of a screen reader finds
// them, and the permission that a user would set. Knows neither of the two drivers.

import type { NotificationArea } from './notification-area.ts';

export interface DrivenPage {
  click(role: 'button' | 'link' | 'checkbox', name: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  /** Waits until an element of this role and accessible name is on the page; its text content. */
  waitForRole(role: string, name?: string): Promise<string>;
  /** Waits until this text, in this case, can be seen somewhere on the page. */
  waitForText(text: string): Promise<void>;
  url(): string;
  close(): Promise<void>;
}

export interface DrivenBrowser {
  readonly name: 'Firefox' | 'Chromium';
  readonly notifications: NotificationArea;
  openPage(url: string): Promise<DrivenPage>;
  /** The addresses of the open tabs. */
  listPageUrls(): Promise<string[]>;
  /** Sets the site's real permission, as its settings page does; to block takes a subscription away. */
  setNotificationPermission(origin: string, setting: 'allow' | 'block'): Promise<void>;
  /** Pictures of all tabs, for the artifacts of a failed test. */
  saveScreenshots(dir: string): Promise<void>;
  /** Ends as a user's quit does: the profile is written and can be started again. */
  quit(): Promise<void>;
}
