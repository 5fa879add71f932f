// As much of PostgreSQL's protocol as it takes to know what the server still owes: which messages ask for an answer, which end
// one, and which say that the connection is over (PostgreSQL documentation, "Frontend/Backend Protocol"). Reads headers, and the
// bodies of errors; changes nothing.

const code = (letter: string): number => letter.charCodeAt(0);

const query = code('Q');
const sync = code('S');
/** Parse, Bind, Describe, Execute, Close, Flush: each belongs to a question that a Sync ends. */
const parts = new Set(['P', 'B', 'D', 'E', 'C', 'H'].map(code));

const readyForQuery = code('Z');
const errorResponse = code('E');

const headerBytes = 5;

/** Ends a question; alone, it is answered at once, in any state of a session and without a change of it. */
export const signOfLifeRequest = Buffer.from([sync, 0, 0, 0, 4]);

/** The questions of one connection that have no answer yet, oldest first. */
export class OpenQuestions {
  /** One each: is it of those that nothing keeps a server from answering, a BEGIN or a sign of life? */
  readonly #open: boolean[] = [];
  /** Parts were sent, and their Sync was not. */
  #isUnsynced = false;

  get count(): number {
    return this.#open.length;
  }

  /** The oldest is answered at once, or the connection is dead. */
  get isPrompt(): boolean {
    return this.#open[0] === true;
  }

  /** What the client writes once it is let in: whole messages, as the driver writes them. */
  noteSent(chunk: Buffer): void {
    for (let at = 0; at + headerBytes <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1)) {
      const type = chunk[at] ?? 0;
      if (type === query) {
        this.#open.push(/^begin\b/i.test(chunk.toString('latin1', at + headerBytes, at + headerBytes + 6)));
      } else if (type === sync) {
        if (!this.#isUnsynced) this.#open.push(false);
        this.#isUnsynced = false;
      } else if (parts.has(type) && !this.#isUnsynced) {
        this.#open.push(false);
        this.#isUnsynced = true;
      }
    }
  }

  noteSignOfLifeAsked(): void {
    this.#open.push(true);
  }

  noteAnswered(): void {
    this.#open.shift();
  }
}

export interface Heard {
  /** How many questions these bytes have answered to the end. */
  readonly answers: number;
  /** The server's last word, and where in the chunk it begins: nothing from there on is for the client. */
  readonly goodbye: { readonly fields: ErrorFields; readonly at: number } | undefined;
}

/**
 * Takes the answer to a sign of life out of what the server said first; undefined: it is not whole yet. What the server says
 * unasked may stand before it, and an error that ends the connection in its place.
 */
export function withoutSignOfLife(heard: Buffer): Buffer | undefined {
  for (let at = 0; at + headerBytes <= heard.length; at += 1 + heard.readUInt32BE(at + 1)) {
    const end = at + 1 + heard.readUInt32BE(at + 1);
    if (heard[at] === errorResponse) return heard;
    if (end > heard.length) return undefined;
    if (heard[at] === readyForQuery) return Buffer.concat([heard.subarray(0, at), heard.subarray(end)]);
  }
  return undefined;
}

/** What the server says of an error, by the letters of its fields. */
export type ErrorFields = Readonly<Record<string, string>>;

/** Reads what the server says, in whatever pieces it comes. */
export class ServerMessages {
  readonly #header = Buffer.alloc(headerBytes);
  #headerRead = 0;
  #bodyLeft = 0;
  /** The body of an error, as far as it is here. */
  #error: Buffer[] | undefined;

  hear(chunk: Buffer): Heard {
    let answers = 0;
    let at = 0;
    // Where the message under way began; before this chunk: at its start.
    let beganAt = 0;
    while (at < chunk.length) {
      if (this.#headerRead === 0) beganAt = at;
      if (this.#headerRead < headerBytes) {
        const taken = chunk.copy(this.#header, this.#headerRead, at, at + headerBytes - this.#headerRead);
        this.#headerRead += taken;
        at += taken;
        if (this.#headerRead < headerBytes) break;
        this.#bodyLeft = this.#header.readUInt32BE(1) - 4;
        this.#error = this.#header[0] === errorResponse ? [] : undefined;
      }
      const body = chunk.subarray(at, at + this.#bodyLeft);
      this.#error?.push(body);
      this.#bodyLeft -= body.length;
      at += body.length;
      if (this.#bodyLeft > 0) break;
      this.#headerRead = 0;
      if (this.#header[0] === readyForQuery) answers++;
      const fields = this.#error && readFields(Buffer.concat(this.#error));
      // V: the severity, whatever language the server speaks.
      if (fields && /^(FATAL|PANIC)$/.test(fields['V'] ?? fields['S'] ?? ''))
        return { answers, goodbye: { fields, at: beganAt } };
    }
    return { answers, goodbye: undefined };
  }
}

function readFields(body: Buffer): ErrorFields {
  const fields: Record<string, string> = {};
  for (const text of body.toString('utf8').split('\0')) if (text !== '') fields[text.charAt(0)] = text.slice(1);
  return fields;
}

/** Asks whether the server speaks TLS. It answers with one letter. */
export const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]);

const protocolVersion = 196_608;

/** Where the start-up message begins that ends this chunk: its length, then the version of the protocol. */
export function startOfStartup(chunk: Buffer): number {
  for (let at = 0; at + 8 <= chunk.length; at++) {
    if (chunk.readUInt32BE(at) === chunk.length - at && chunk.readUInt32BE(at + 4) === protocolVersion) return at;
  }
  return 0;
}
