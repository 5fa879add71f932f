// One message stream (MCS) between Google's push service and a Chromium: frames in both directions,
// and which of them the client has acknowledged. It knows no device and no queue.

import type { TLSSocket } from 'node:tls';
import { encodeFrame, encodeMessage, type Field, FrameReader, type Message, mcsVersion, tags } from './gcm-wire.ts';
import type { StoredPush } from './push-queue.ts';

export interface McsHandlers {
  onLogin: (login: Message) => void;
  onAcknowledged: (messageId: string) => void;
  onClosed: () => void;
}

/** The fields of a subscription's registration that the client needs with a push. */
export interface PushAddress {
  app: string;
  subtype: string;
  sender: string;
}

export class McsStream {
  readonly #socket: TLSSocket;
  readonly #handlers: McsHandlers;
  readonly #reader = new FrameReader();
  /** The push in each frame number, until it is acknowledged. */
  readonly #unacknowledged = new Map<number, string>();
  #framesSent = 0;

  constructor(socket: TLSSocket, handlers: McsHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    socket.on('error', () => socket.destroy());
    socket.on('close', handlers.onClosed);
    socket.on('data', (chunk) => {
      for (const { tag, message } of this.#reader.read(chunk)) this.#receive(tag, message);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  acceptLogin(login: Message): void {
    this.#socket.write(Buffer.from([mcsVersion]));
    this.#send(tags.loginResponse, [
      [1, 'bytes', login.text(1) ?? ''],
      [6, 'varint', 1],
      [8, 'varint', Date.now()],
    ]);
  }

  deliver(push: StoredPush, { app, subtype, sender }: PushAddress): void {
    const hasPayload = push.body.length > 0;
    const fields: Field[] = [
      [3, 'bytes', sender],
      [5, 'bytes', app],
      [7, 'bytes', encodePair('subtype', subtype)],
    ];
    if (hasPayload) fields.push([7, 'bytes', encodePair('content-encoding', 'aes128gcm')], [21, 'bytes', push.body]);
    fields.push(
      [9, 'bytes', push.id],
      [17, 'varint', push.ttlSeconds],
      [18, 'varint', Date.now()],
      // immediate_ack: otherwise the client acknowledges only every tenth message.
      [24, 'varint', 1],
    );
    this.#send(tags.dataMessage, fields);
    this.#unacknowledged.set(this.#framesSent, push.id);
  }

  #receive(tag: number, message: Message): void {
    if (tag === tags.loginRequest) this.#handlers.onLogin(message);
    else if (tag === tags.heartbeatPing) this.#send(tags.heartbeatAck, []);
    const lastFrame = acknowledgedFrame(tag, message);
    if (lastFrame === undefined) return;
    for (const [frame, messageId] of this.#unacknowledged) {
      if (frame > lastFrame) continue;
      this.#unacknowledged.delete(frame);
      this.#handlers.onAcknowledged(messageId);
    }
  }

  #send(tag: number, fields: readonly Field[]): void {
    this.#framesSent += 1;
    this.#socket.write(encodeFrame(tag, encodeMessage(fields)));
  }
}

function encodePair(key: string, value: string): Buffer {
  return encodeMessage([
    [1, 'bytes', key],
    [2, 'bytes', value],
  ]);
}

/** `last_stream_id_received` of the frames with which Chromium acknowledges. */
function acknowledgedFrame(tag: number, message: Message): number | undefined {
  const field = tag === tags.iqStanza ? 10 : tag === tags.heartbeatPing || tag === tags.heartbeatAck ? 2 : undefined;
  const last = field === undefined ? undefined : message.integer(field);
  return last === undefined ? undefined : Number(last);
}
