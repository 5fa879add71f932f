// The stream under a client of `pg`: TCP or a Unix socket, and TLS where the address asks for it.
// `pg` takes such a stream by its option `stream`, and parses in a listener of `data`. The parser
// throws at bytes that are no protocol. A wire ends its connection then, and never the process.
import { isIP, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type DatabaseAddress, type Host, isLocal, isUnverified } from './address.ts';
import { Framing } from './framing.ts';

/** Milliseconds. The kernel probes an idle connection after this time. */
const keepAliveMs = 10_000;

/** Asks whether the server has TLS (PostgreSQL protocol, 54.7: SSLRequest). */
const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

type Done = (error?: Error | null) => void;

export class Wire extends Duplex {
  readonly #place: Host;
  readonly #address: Pick<DatabaseAddress, 'tls' | 'isTlsDirect'>;
  readonly #framing = new Framing();
  /** The TLS socket over the plain one, once TLS has begun. */
  #socket: Socket = new Socket();

  constructor(place: Host, address: Pick<DatabaseAddress, 'tls' | 'isTlsDirect'>) {
    super();
    this.#place = place;
    this.#address = address;
    this.#watch(this.#socket);
  }

  /** The server at the other end, by its address. */
  get server(): string {
    return `${this.#place.host}:${this.#place.port}`;
  }

  /** `pg` calls this before `connect`. A wire never delays what it writes. */
  setNoDelay(): this {
    this.#socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    return this;
  }

  /** Emits `connect` once `pg` can sign in. */
  connect(): this {
    const { host, port } = this.#place;
    this.#socket.once('connect', () => this.#secure());
    if (isLocal(this.#place)) this.#socket.connect(`${host}/.s.PGSQL.${port}`);
    else this.#socket.connect(port, host);
    return this;
  }

  #secure(): void {
    const { tls, isTlsDirect } = this.#address;
    if (!tls || tls === 'disable' || isLocal(this.#place)) this.#begin();
    else if (isTlsDirect) this.#startTls();
    else this.#askForTls(tls);
  }

  #askForTls(tls: string): void {
    this.#socket.write(tlsRequest);
    this.#socket.once('data', (answer: Buffer) => {
      const letter = answer.toString();
      if (letter === 'S') this.#startTls();
      else if (letter === 'N' && tls === 'prefer') this.#begin();
      else if (letter === 'N') this.destroy(new Error('the server does not support TLS'));
      // Further bytes after this letter would come from an attacker before the encryption
      // (CVE-2021-23222).
      else this.destroy(new Error('the server answered the request for TLS with something else'));
    });
  }

  #startTls(): void {
    const { tls, isTlsDirect } = this.#address;
    const { host } = this.#place;
    const secured: TLSSocket = connectTls({
      socket: this.#socket,
      // The certificate is checked against this name.
      host,
      // SNI does not allow IP addresses (RFC 6066, 3).
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: !isUnverified(tls),
      ...(isTlsDirect && { ALPNProtocols: ['postgresql'] }),
    });
    this.#socket = secured;
    this.#watch(secured);
    secured.once('secureConnect', () => this.#begin());
  }

  #begin(): void {
    this.#socket.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) this.#socket.pause();
    });
    this.emit('connect');
  }

  #watch(socket: Socket): void {
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== 'data') return super.emit(event, ...args);
    try {
      this.#framing.follow(args[0] as Buffer);
      return super.emit(event, ...args);
    } catch (error) {
      const { message } = error as Error;
      this.destroy(Object.assign(new Error(message, { cause: error }), { code: '08P01' }));
      return true;
    }
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.#socket.write(bytes, done);
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#socket.write(Buffer.concat(pieces.map(({ chunk }) => chunk)), done);
  }

  override _final(done: Done): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    const socket = this.#socket;
    if (socket.closed) done(error);
    else socket.destroy().once('close', () => done(error));
  }
}
