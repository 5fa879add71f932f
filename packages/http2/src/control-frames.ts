// Writes and reads the small frames of a connection, with every rule of their form (RFC 9113 6).
// Their meaning for requests is unknown here.
import type { ByteWriter } from './byte-writer.ts';
import {
  connectionPreface,
  frameFlags,
  frameHeaderBytes,
  frameTypes,
  payloadBytesMax,
  readUint32,
  streamIdMax,
  writeFrameHeader,
} from './frames.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';

const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;
const settingBytes = 6;

/** The maximum size of one header block, counted as in RFC 9113 6.5.2. */
export const headerListBytesMax = 65_536;

/** Bytes that the peer may send on all streams before we have consumed them. */
export const connectionWindowBytes = 1_048_576;
const windowBytesDefault = 65_535;

export function writePreface(out: ByteWriter): void {
  const settings = [
    [settingIds.enablePush, 0],
    [settingIds.maxHeaderListSize, headerListBytesMax],
  ] as const;
  out.reserve(128);
  out.writeLatin1(connectionPreface);
  writeFrameHeader(out, settings.length * settingBytes, frameTypes.settings, 0, 0);
  for (const [id, value] of settings) {
    out.bytes[out.length++] = 0;
    out.bytes[out.length++] = id;
    out.writeUint32(value);
  }
  writeWindowUpdate(out, connectionWindowBytes - windowBytesDefault);
}

export function writeSettingsAck(out: ByteWriter): void {
  out.reserve(frameHeaderBytes);
  writeFrameHeader(out, 0, frameTypes.settings, frameFlags.ack, 0);
}

export function writePing(out: ByteWriter, flags: number, bytes: Uint8Array, start: number): void {
  out.reserve(frameHeaderBytes + 8);
  writeFrameHeader(out, 8, frameTypes.ping, flags, 0);
  out.writeBytes(bytes, start, start + 8);
}

export function writeReset(out: ByteWriter, streamId: number, errorCode: number): void {
  out.reserve(frameHeaderBytes + 4);
  writeFrameHeader(out, 4, frameTypes.rstStream, 0, streamId);
  out.writeUint32(errorCode);
}

/** The last stream is 0, because the peer opens none. */
export function writeGoaway(out: ByteWriter, errorCode: number): void {
  out.reserve(frameHeaderBytes + 8);
  writeFrameHeader(out, 8, frameTypes.goaway, 0, 0);
  out.writeUint32(0);
  out.writeUint32(errorCode);
}

/** Writes a WINDOW_UPDATE for the whole connection. */
export function writeWindowUpdate(out: ByteWriter, bytes: number): void {
  out.reserve(frameHeaderBytes + 4);
  writeFrameHeader(out, 4, frameTypes.windowUpdate, 0, 0);
  out.writeUint32(bytes);
}

/** The parts of a SETTINGS frame that concern us. The last value of each setting counts. */
export interface PeerSettings {
  /** The smallest and the last size, because the table must have shrunk to the smallest one. */
  readonly headerTableSizes: readonly number[];
  readonly maxConcurrentStreams: number | undefined;
  readonly initialWindowSize: number | undefined;
}

export function readSettings(bytes: Buffer, start: number, end: number): PeerSettings {
  if ((end - start) % settingBytes !== 0) {
    throw new ProtocolError(errorCodes.frameSizeError, 'SETTINGS have an impossible length.');
  }
  const values = new Map<number, number>();
  let leastTableSize = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; at += settingBytes) {
    const id = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    const value = readUint32(bytes, at + 2);
    checkSetting(id, value);
    if (id === settingIds.headerTableSize) leastTableSize = Math.min(leastTableSize, value);
    if (id <= settingIds.maxHeaderListSize) values.set(id, value);
  }
  const lastTableSize = values.get(settingIds.headerTableSize);
  return {
    headerTableSizes: lastTableSize === undefined ? [] : [leastTableSize, lastTableSize],
    maxConcurrentStreams: values.get(settingIds.maxConcurrentStreams),
    initialWindowSize: values.get(settingIds.initialWindowSize),
  };
}

/** Checks a setting's value (RFC 9113 6.5.2). */
function checkSetting(id: number, value: number): void {
  if (id === settingIds.enablePush && value !== 0) {
    throw new ProtocolError(errorCodes.protocolError, 'The peer means to take pushes from us.');
  }
  if (id === settingIds.initialWindowSize && value > streamIdMax) {
    throw new ProtocolError(errorCodes.flowControlError, 'A window is over 2^31 - 1.');
  }
  if (id === settingIds.maxFrameSize && (value < payloadBytesMax || value > 0xffffff)) {
    throw new ProtocolError(errorCodes.protocolError, 'The size of frames is impossible.');
  }
}

/**
 * Throws unless the payload has the wanted length and the frame is on a stream, or on the
 * connection, as required.
 */
export function checkShape(
  length: number,
  wanted: number,
  streamId: number,
  isOfConnection: boolean | undefined,
): void {
  if (length !== wanted) throw new ProtocolError(errorCodes.frameSizeError, 'A frame has an impossible length.');
  if (isOfConnection !== undefined && (streamId === 0) !== isOfConnection) {
    throw new ProtocolError(errorCodes.protocolError, 'A frame stands on a stream where it may not.');
  }
}

export interface Content {
  readonly start: number;
  readonly end: number;
}

/** The content of DATA or HEADERS without padding and priority (RFC 9113 6.1, 6.2). */
export function readContent(flags: number, bytes: Buffer, start: number, end: number): Content {
  const padding = (flags & frameFlags.padded) === 0 ? 0 : (bytes[start] ?? 0);
  const begin = start + ((flags & frameFlags.padded) === 0 ? 0 : 1) + ((flags & frameFlags.priority) === 0 ? 0 : 5);
  if (begin + padding > end)
    throw new ProtocolError(errorCodes.protocolError, 'A frame has more padding than content.');
  return { start: begin, end: end - padding };
}
