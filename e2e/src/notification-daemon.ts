// A desktop's notification area on a private D-Bus. It shows nothing, records everything, and lets
// a test click, dismiss or press a button as a user would. It never touches the bus of the
// machine's own session. https://specifications.freedesktop.org/notification-spec/

import { existsSync } from 'node:fs';
import dbus from 'dbus-next';
import { untilDefined } from './deadline.ts';
import { EventLog } from './event-log.ts';
import type { NotificationArea, ShownNotification } from './notification-area.ts';
import type { Run, StartedProcess } from './run.ts';

export type DesktopEvent =
  | ({ type: 'shown'; id: number; app: string; actions: Record<string, string> } & ShownNotification)
  | { type: 'closed'; id: number; reason: number };

const busName = 'org.freedesktop.Notifications';
const objectPath = '/org/freedesktop/Notifications';
/** Reasons of NotificationClosed: 2 dismissed by the user, 3 closed by the application. */
const dismissed = 2;
const closedByApplication = 3;

class NotificationsInterface extends dbus.interface.Interface {
  readonly #log: EventLog<DesktopEvent>;
  #lastId = 0;

  constructor(log: EventLog<DesktopEvent>) {
    super(busName);
    this.#log = log;
  }

  GetCapabilities(): string[] {
    return ['actions', 'body', 'body-markup', 'icon-static', 'persistence'];
  }

  GetServerInformation(): string[] {
    return ['Carillon test desktop', 'Carillon', '1', '1.2'];
  }

  Notify(app: string, replaces: number, _icon: string, title: string, body: string, actionList: string[]): number {
    this.#lastId += 1;
    const id = replaces === 0 ? this.#lastId : replaces;
    const actions: Record<string, string> = {};
    for (let at = 0; at + 1 < actionList.length; at += 2) actions[String(actionList[at])] = String(actionList[at + 1]);
    this.#log.add({ type: 'shown', id, app, title, body, actions });
    return id;
  }

  CloseNotification(id: number): void {
    this.NotificationClosed(id, closedByApplication);
    this.#log.add({ type: 'closed', id, reason: closedByApplication });
  }

  ActionInvoked(id: number, key: string): [number, string] {
    return [id, key];
  }

  NotificationClosed(id: number, reason: number): [number, number] {
    return [id, reason];
  }
}

NotificationsInterface.configureMembers({
  methods: {
    GetCapabilities: { inSignature: '', outSignature: 'as' },
    GetServerInformation: { inSignature: '', outSignature: 'ssss' },
    Notify: { inSignature: 'susssasa{sv}i', outSignature: 'u' },
    CloseNotification: { inSignature: 'u', outSignature: '' },
  },
  signals: { ActionInvoked: { signature: 'us' }, NotificationClosed: { signature: 'uu' } },
});

export class NotificationDaemon implements NotificationArea {
  readonly log = new EventLog<DesktopEvent>('notification daemon');
  /** The value for a browser's DBUS_SESSION_BUS_ADDRESS. */
  readonly busAddress: string;
  readonly #bus: StartedProcess;
  readonly #connection: dbus.MessageBus;
  readonly #interface: NotificationsInterface;

  private constructor(bus: StartedProcess, socketPath: string) {
    this.#bus = bus;
    this.busAddress = `unix:path=${socketPath}`;
    // dbus-next's own key `socket=` needs no native module.
    this.#connection = dbus.sessionBus({ busAddress: `unix:socket=${socketPath}` });
    this.#connection.on('error', () => {});
    this.#interface = new NotificationsInterface(this.log);
  }

  static async start(run: Run): Promise<NotificationDaemon> {
    const socketPath = run.newPath('bus');
    const bus = run.start('dbus-daemon', ['--session', '--nofork', '--nopidfile', `--address=unix:path=${socketPath}`]);
    await untilDefined('the private bus to listen', () => {
      if (bus.hasExited) throw new Error('dbus-daemon ended at once.');
      return existsSync(socketPath) ? true : undefined;
    });
    const daemon = new NotificationDaemon(bus, socketPath);
    daemon.#connection.export(objectPath, daemon.#interface);
    await daemon.#connection.requestName(busName, 0);
    return daemon;
  }

  async waitFor(title: string): Promise<ShownNotification> {
    return await this.#find(title);
  }

  async click(title: string): Promise<void> {
    const { id } = await this.#find(title);
    this.#interface.ActionInvoked(id, 'default');
  }

  async clickAction(title: string, label: string): Promise<void> {
    const { id, actions } = await this.#find(title);
    const key = Object.keys(actions).find((candidate) => actions[candidate] === label);
    if (key === undefined) throw new Error(`"${title}" has no button "${label}", only ${JSON.stringify(actions)}.`);
    this.#interface.ActionInvoked(id, key);
  }

  async dismiss(title: string): Promise<void> {
    const { id } = await this.#find(title);
    this.#interface.NotificationClosed(id, dismissed);
    this.log.add({ type: 'closed', id, reason: dismissed });
  }

  async stop(): Promise<void> {
    this.#connection.disconnect();
    await this.#bus.stop();
  }

  async #find(title: string) {
    return await this.log.waitFor('shown', (shown) => shown.title === title);
  }
}
