// The WebDriver BiDi connection to Firefox, shared by Puppeteer and our own commands, because the
// browser allows only one session. Our own commands reach the browser's own windows, which
// Puppeteer cannot. https://w3c.github.io/webdriver-bidi/

import { once } from 'node:events';
import type { ConnectionTransport } from 'puppeteer-core';
import { WebSocket } from 'ws';

/** Puppeteer numbers its commands from 1; ours begin far above. */
const firstId = 1_000_000_000;

interface Answer {
  type: 'success' | 'error';
  id: number;
  result?: unknown;
  error?: string;
  message?: string;
}

export class BidiChannel implements ConnectionTransport {
  onmessage?: (message: string) => void;
  onclose?: () => void;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #nextId = firstId;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(String(data)));
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('Firefox closed the connection.'));
      this.#waiting.clear();
      this.onclose?.();
    });
  }

  static async connect(url: string): Promise<BidiChannel> {
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new BidiChannel(socket);
  }

  send(message: string): void {
    this.#socket.send(message);
  }

  close(): void {
    this.#socket.terminate();
  }

  /** Sends a command of our own. Rejects with Firefox's error. */
  async command(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    this.#nextId += 1;
    const id = this.#nextId;
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return (await answered) as Record<string, unknown>;
  }

  #receive(text: string): void {
    const answer = JSON.parse(text) as Answer;
    const waiting = typeof answer.id === 'number' ? this.#waiting.get(answer.id) : undefined;
    if (waiting === undefined) {
      this.onmessage?.(text);
      return;
    }
    this.#waiting.delete(answer.id);
    if (answer.type === 'success') waiting.resolve(answer.result);
    else waiting.reject(new Error(`${answer.error}: ${answer.message}`));
  }
}
