// A user's actions on a notification, wherever the browser shows it. It knows no browser and no
// bus.

export interface ShownNotification {
  title: string;
  body: string;
}

/** Notifications are identified by their title, as a user does; each test uses its own titles. */
export interface NotificationArea {
  waitFor(title: string): Promise<ShownNotification>;
  click(title: string): Promise<void>;
  dismiss(title: string): Promise<void>;
  /** Rejects when the notification shows no such button. */
  clickAction(title: string, label: string): Promise<void>;
}
