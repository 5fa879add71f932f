// Writes outcomes as rows in COPY's binary format (PostgreSQL, "COPY", File Formats). With this
// format neither side converts ids and numbers to text and back. Pure.
import { type Uuid, writeUuid } from '../../ground/values/ids.ts';

/** One outcome in its stored form, as numbers. */
export interface DeliveryRow {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly doneAtMs: number;
  readonly latencyMs: number | null;
  readonly credentialId: number | null;
  readonly channel: number;
  readonly status: number;
  readonly errorCode: number | null;
  readonly attempts: number;
  readonly providerStatus: number | null;
  readonly form: number | null;
  readonly providerRef: string | null;
  readonly urls: string | null;
  readonly timeline: string | null;
}

const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** The signature, no flags, no extension. */
const headBytes = signature.length + 8;
const tailBytes = 2;
const fieldsCount = 15;
const uuidBytes = 16;
/**
 * The bytes of a row without its texts: the count of its fields, their lengths, three ids, an
 * instant, a latency, and seven small numbers.
 */
const rowBytes = 2 + 4 * fieldsCount + 3 * uuidBytes + 8 + 4 + 7 * 2;
/** A code unit of a string takes at most three bytes in UTF-8. */
const bytesPerUnit = 3;

const absent = -1;
/** 2000-01-01: PostgreSQL counts microseconds from this instant. */
const epochMs = Date.UTC(2000, 0, 1);
const words = 2 ** 32;

/** The fields have the order of the statement in `copyDeliveries`. */
export function encodeDeliveries(batchId: Uuid, rows: readonly DeliveryRow[]): Buffer {
  const out = new FieldWriter(headBytes + rows.reduce((sum, row) => sum + bytesMaxOf(row), 0) + tailBytes);
  const batch = Buffer.alloc(uuidBytes);
  writeUuid(batchId, batch, 0);
  out.head();
  for (const row of rows) {
    out.count(fieldsCount);
    out.uuidBytes(batch);
    out.uuid(row.deviceId);
    out.uuid(row.userId);
    out.instant(row.doneAtMs);
    out.int4(row.latencyMs);
    out.int2(row.credentialId);
    out.int2(row.channel);
    out.int2(row.status);
    out.int2(row.errorCode);
    out.int2(row.attempts);
    out.int2(row.providerStatus);
    out.int2(row.form);
    out.text(row.providerRef);
    out.text(row.urls);
    out.text(row.timeline);
  }
  out.count(absent);
  return out.bytes();
}

function bytesMaxOf({ providerRef, urls, timeline }: DeliveryRow): number {
  const units = (providerRef?.length ?? 0) + (urls?.length ?? 0) + (timeline?.length ?? 0);
  return rowBytes + units * bytesPerUnit;
}

/** Writes into a buffer that is large enough. Each field begins with its length. */
class FieldWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytesMax: number) {
    this.#bytes = Buffer.allocUnsafe(bytesMax);
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  head(): void {
    this.#at += signature.copy(this.#bytes);
    this.#int4(0);
    this.#int4(0);
  }

  /** The number of fields of the next row; -1 ends the rows. */
  count(fields: number): void {
    this.#at = this.#bytes.writeInt16BE(fields, this.#at);
  }

  uuidBytes(id: Buffer): void {
    this.#int4(uuidBytes);
    this.#bytes.set(id, this.#at);
    this.#at += uuidBytes;
  }

  uuid(id: Uuid | null): void {
    if (id === null) {
      this.#int4(absent);
      return;
    }
    this.#int4(uuidBytes);
    writeUuid(id, this.#bytes, this.#at);
    this.#at += uuidBytes;
  }

  /** Written in microseconds. A number holds them exactly for 285 years. */
  instant(ms: number): void {
    const us = Math.round((ms - epochMs) * 1000);
    const high = Math.floor(us / words);
    this.#int4(8);
    this.#int4(high);
    this.#at = this.#bytes.writeUInt32BE(us - high * words, this.#at);
  }

  int4(value: number | null): void {
    if (value === null) {
      this.#int4(absent);
      return;
    }
    this.#int4(4);
    this.#int4(value);
  }

  int2(value: number | null): void {
    if (value === null) {
      this.#int4(absent);
      return;
    }
    this.#int4(2);
    this.#at = this.#bytes.writeInt16BE(value, this.#at);
  }

  text(value: string | null): void {
    if (value === null) {
      this.#int4(absent);
      return;
    }
    const written = this.#bytes.write(value, this.#at + 4, 'utf8');
    this.#int4(written);
    this.#at += written;
  }

  #int4(value: number): void {
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }
}
