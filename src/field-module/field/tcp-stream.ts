/** A TCP connection of a script: opened when it is used, read by count or by line, opened again after its end was reported. */
import { connect, type Socket } from 'node:net';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { WaitingCall } from './waiting-call.ts';

interface TcpStreamOptions {
  host: string;
  port: number;
  clock: Pick<Clock, 'setTimer'>;
  limits: Limits['lua']['sockets'];
  /** Why the script may not connect now. */
  refusal: () => string | undefined;
  /** The words of scripts for what went wrong. */
  wordsOf: (error: unknown) => string;
}

/** How many of the bytes are what somebody reads; undefined: they are not there yet. A text: they never will. */
type Find = (bytes: Buffer) => number | string | undefined;

/** A TCP connection of one script. */
export class TcpStream {
  readonly #options: TcpStreamOptions;
  readonly #reader: WaitingCall;
  #socket: Socket | undefined;
  #bytes = Buffer.alloc(0);
  /** Why the connection ended, until the script was given it. */
  #ended: string | undefined;
  #isReading = false;

  constructor(options: TcpStreamOptions) {
    this.#options = options;
    this.#reader = new WaitingCall(options.clock);
  }

  get address(): string {
    const { host, port } = this.#options;
    return `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  /** Writes the bytes. Resolves with the fault; undefined when the system has the bytes. */
  async write(bytes: Uint8Array): Promise<string | undefined> {
    const problem = this.#takeEnd() ?? (await this.#connect());
    if (problem !== undefined) return problem;
    const socket = this.#socket;
    return new Promise((resolve) => {
      if (!socket) return resolve('connection closed');
      const timer = this.#options.clock.setTimer(this.#options.limits.writeMs, () => {
        socket.destroy();
        resolve('timeout');
      });
      socket.write(bytes, (error) => {
        timer.cancel();
        resolve(error ? this.#options.wordsOf(error) : undefined);
      });
    });
  }

  /** So many bytes; after the time, or at the end of the connection, those that came. */
  read(count: number, timeoutMs: DurationMs): Promise<Buffer | string> {
    return this.#read((bytes) => (bytes.length >= count ? count : undefined), timeoutMs, true);
  }

  /** The next line without its end; what came of it stays when the time is over. */
  async readLine(timeoutMs: DurationMs): Promise<Buffer | string> {
    const { bufferBytes } = this.#options.limits;
    const line = await this.#read(
      (bytes) => {
        const end = bytes.indexOf('\n');
        if (end >= 0) return end + 1;
        return bytes.length >= bufferBytes ? `the line has more than ${bufferBytes} bytes` : undefined;
      },
      timeoutMs,
      false,
    );
    if (typeof line === 'string') return line;
    return line.subarray(0, line.at(-2) === 0x0d ? -2 : -1);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#bytes = Buffer.alloc(0);
    this.#ended = undefined;
    this.#reader.wake();
  }

  async #read(find: Find, timeoutMs: DurationMs, takesRest: boolean): Promise<Buffer | string> {
    if (this.#isReading) return 'another call reads from this connection';
    this.#isReading = true;
    try {
      const problem = this.#bytes.length === 0 ? (this.#takeEnd() ?? (await this.#connect())) : undefined;
      if (problem !== undefined) return problem;
      return await this.#reader.wait((isLate) => this.#find(find, isLate, takesRest), timeoutMs);
    } finally {
      this.#isReading = false;
      this.#socket?.resume();
    }
  }

  #find(find: Find, isLate: boolean, takesRest: boolean): Buffer | string | undefined {
    const count = find(this.#bytes);
    if (typeof count === 'number') return this.#take(count);
    if (count !== undefined) {
      this.#take(this.#bytes.length);
      return count;
    }
    if (!isLate && this.#socket !== undefined) return undefined;
    if (takesRest && this.#bytes.length > 0) return this.#take(this.#bytes.length);
    return this.#takeEnd() ?? (isLate ? 'timeout' : 'connection closed');
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count);
    this.#bytes = this.#bytes.subarray(count);
    return taken;
  }

  /** Why the connection ended, once; an unfinished line is dropped with it. */
  #takeEnd(): string | undefined {
    const ended = this.#ended;
    if (ended !== undefined) this.#bytes = Buffer.alloc(0);
    this.#ended = undefined;
    return ended;
  }

  /** Connects. Resolves with the fault; undefined when there is a connection. */
  async #connect(): Promise<string | undefined> {
    if (this.#socket) return undefined;
    const { host, port, clock, limits, refusal, wordsOf } = this.#options;
    const refused = refusal();
    if (refused !== undefined) return refused;
    const socket = connect({ host, port });
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const timer = clock.setTimer(limits.connectMs, () => socket.destroy(new Error('timeout')));
    let words = 'connection closed';
    socket.on('error', (error) => (words = wordsOf(error)));
    socket.on('connect', () => resolve(undefined));
    socket.on('data', (bytes: Buffer) => {
      if (this.#socket !== socket) return;
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      if (this.#bytes.length >= limits.bufferBytes) socket.pause();
      this.#reader.wake();
    });
    socket.on('close', () => {
      resolve(words);
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#ended = words;
      this.#reader.wake();
    });
    const problem = await promise;
    timer.cancel();
    socket.setNoDelay();
    // It was given to the caller.
    if (problem !== undefined) this.#ended = undefined;
    return problem;
  }
}
