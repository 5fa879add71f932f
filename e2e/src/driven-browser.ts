// The interface of a driven browser, the same for both browsers. Pages are searched by role and
// label, as a screen reader's user finds things. Permissions are set as a user would. It knows
// neither driver.

import type { NotificationArea } from './notification-area.ts';

export interface DrivenPage {
  click(role: 'button' | 'link' | 'checkbox', name: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  /** Waits for an element of this role and accessible name, and returns its text content. */
  waitForRole(role: string, name?: string): Promise<string>;
  /** Waits until this text, in this case, is visible on the page. */
  waitForText(text: string): Promise<void>;
  /** Clicks the place with this text, where a link says more than its name. */
  clickText(text: string): Promise<void>;
  url(): string;
  close(): Promise<void>;
}

export interface DrivenBrowser {
  readonly name: 'Firefox' | 'Chromium';
  readonly notifications: NotificationArea;
  openPage(url: string): Promise<DrivenPage>;
  /** The addresses of the open tabs. */
  listPageUrls(): Promise<string[]>;
  /** Sets the site's real permission, as its settings page does. `block` ends a subscription. */
  setNotificationPermission(origin: string, setting: 'allow' | 'block'): Promise<void>;
  /** Saves pictures of all tabs for the artifacts of a failed test. */
  saveScreenshots(dir: string): Promise<void>;
  /** Quits as a user does: the profile is written and can be used again. */
  quit(): Promise<void>;
}
