// What a user can do with a notification, wherever the browser shows it. Knows no browser and no bus.

export interface ShownNotification {
  title: string;
  body: string;
}

/** Notifications are told apart by their title, as a user does; a test gives each its own. */
export interface NotificationArea {
  waitFor(title: string): Promise<ShownNotification>;
  click(title: string): Promise<void>;
  dismiss(title: string): Promise<void>;
  /** Rejects where the notification shows no such button. */
  clickAction(title: string, label: string): Promise<void>;
}
