// The part of PostgreSQL's protocol that tells which answers the server owes (PostgreSQL
// documentation, "Frontend/Backend Protocol"). It recognises messages that ask for an answer, that
// end one, and that end the connection. Reads message headers and the bodies of errors, and changes
// nothing.

const code = (letter: string): number => letter.charCodeAt(0);

const query = code('Q');
const sync = code('S');
/** Parse, Bind, Describe, Execute, Close, Flush: parts of a question that a Sync ends. */
const parts = new Set(['P', 'B', 'D', 'E', 'C', 'H'].map(code));

const readyForQuery = code('Z');
const errorResponse = code('E');

const headerBytes = 5;

/**
 * A Sync ends a question. Sent alone, it is answered at once in any state of a session and changes
 * nothing.
 */
export const signOfLifeRequest = Buffer.from([sync, 0, 0, 0, 4]);

/** The unanswered questions of one connection, oldest first. */
export class OpenQuestions {
  /** For each question: true when nothing delays its answer, as for a BEGIN or a sign of life. */
  readonly #open: boolean[] = [];
  /** Parts of a question were sent without their Sync so far. */
  #isUnsynced = false;

  get count(): number {
    return this.#open.length;
  }

  /** True when the oldest question must be answered at once, unless the connection is dead. */
  get isPrompt(): boolean {
    return this.#open[0] === true;
  }

  /** Takes what the client writes after authentication; the driver writes whole messages. */
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
  /** Questions that these bytes have answered completely. */
  readonly answers: number;
  /**
   * The fatal error with which the server ends the connection, and its position in the chunk.
   * Nothing from there on is passed to the client.
   */
  readonly goodbye: { readonly fields: ErrorFields; readonly at: number } | undefined;
}

/**
 * Removes the answer to a sign of life from the server's first bytes; undefined while the answer is
 * incomplete. Unrequested messages may stand before it, and an error that ends the connection may
 * stand in its place.
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

/** The fields of a server's error, by their letters. */
export type ErrorFields = Readonly<Record<string, string>>;

/** Reads the server's messages from pieces of any size. */
export class ServerMessages {
  readonly #header = Buffer.alloc(headerBytes);
  #headerRead = 0;
  #bodyLeft = 0;
  /** The part of an error's body that has arrived. */
  #error: Buffer[] | undefined;

  hear(chunk: Buffer): Heard {
    let answers = 0;
    let at = 0;
    // The start of the current message in this chunk; 0 when it began in an earlier chunk.
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
      // V is the severity, independent of the server's language.
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

/** The request for TLS, which the server answers with one letter. */
export const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]);

const protocolVersion = 196_608;

/**
 * The position of the startup message that ends this chunk: its length, then the protocol's
 * version.
 */
export function startOfStartup(chunk: Buffer): number {
  for (let at = 0; at + 8 <= chunk.length; at++) {
    if (chunk.readUInt32BE(at) === chunk.length - at && chunk.readUInt32BE(at + 4) === protocolVersion) return at;
  }
  return 0;
}
