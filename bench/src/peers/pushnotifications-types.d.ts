// The used parts of `node-pushnotifications`, which has no types of its own.
declare module 'node-pushnotifications' {
  interface Result {
    readonly method: string;
    readonly success: number;
    readonly failure: number;
    readonly message: readonly unknown[];
  }
  class PushNotifications {
    constructor(settings: object);
    send(ids: readonly object[], data: object): Promise<Result[]>;
  }
  export = PushNotifications;
}
