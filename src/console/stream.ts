/** A WebSocket on which the gateway reports events; it reconnects by itself. */
import type { DurationMs, EpochMs, MonotonicMs } from '../lib/time.ts';

interface StreamOptions<Message> {
  onOpen?(): void;
  onClose?(): void;
  onMessage(message: Message): void;
  /** Silence after which the connection counts as lost: browsers hide pings, and a dead one looks like a quiet one. */
  silenceMaxMs?: DurationMs;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;

/** Connects to a path of the API; returns the end. */
export function openStream<Message>(path: string, options: StreamOptions<Message>): () => void {
  const stream = new ChangingStream(path, options);
  return () => stream.end();
}

/** A stream whose path may become another one while it is open. */
export class ChangingStream<Message> {
  readonly #options: StreamOptions<Message>;
  readonly #wake = (): void => this.awake();
  #path: string;
  /** Undefined while there is none. */
  #socket: WebSocket | undefined;
  /** It is to replace the present one. */
  #next: WebSocket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #delayMs: DurationMs = RETRY_FIRST_MS;
  #heardAtMs: MonotonicMs = 0;
  /** Measured by the wall clock, which goes on while the machine sleeps. */
  #heardAtDateMs: EpochMs = 0;
  #isEnded = false;

  constructor(path: string, options: StreamOptions<Message>) {
    this.#path = path;
    this.#options = options;
    document.addEventListener('visibilitychange', this.#wake);
    addEventListener('online', this.#wake);
    this.#connect();
  }

  /** Changes to another path, without a gap. Resolves when the new connection is open, or could not be opened. */
  async exchange(path: string): Promise<void> {
    if (path === this.#path) return;
    this.#path = path;
    // If none is open, the next one takes the new path.
    if (this.#socket?.readyState === WebSocket.OPEN) await this.#replace();
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#silence);
    document.removeEventListener('visibilitychange', this.#wake);
    removeEventListener('online', this.#wake);
    if (this.#socket) close(this.#socket);
    this.#socket = undefined;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    const path = this.#path;
    const opened = this.#dial();
    this.#take(opened);
    opened.addEventListener('open', () => {
      // The stream was ended before, or opening took too long.
      if (this.#socket !== opened) return;
      this.#delayMs = RETRY_FIRST_MS;
      this.#options.onOpen?.();
      if (path !== this.#path) void this.#replace();
    });
  }

  #dial(): WebSocket {
    const { protocol, host } = location;
    return new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}${this.#path}`);
  }

  /** Makes it the present connection. */
  #take(opened: WebSocket): void {
    this.#socket = opened;
    this.#hear();
    this.#listen(opened, this.#options.silenceMaxMs);
    opened.addEventListener('message', ({ data }) => {
      if (this.#socket !== opened) return;
      this.#hear();
      this.#options.onMessage(JSON.parse(String(data)) as Message);
    });
    opened.addEventListener('close', () => this.#lose(opened));
  }

  #hear(): void {
    this.#heardAtMs = performance.now();
    this.#heardAtDateMs = Date.now();
  }

  #replace(): Promise<void> {
    const opened = this.#dial();
    this.#next = opened;
    return new Promise((resolve) => {
      opened.addEventListener('close', () => resolve());
      opened.addEventListener('open', () => {
        // Another path was wanted since, or the present connection was lost.
        if (this.#isEnded || this.#next !== opened) opened.close();
        else {
          this.#next = undefined;
          const before = this.#socket;
          this.#take(opened);
          before?.close();
        }
        resolve();
      });
    });
  }

  /** One timer for any number of messages: it checks how long ago the last one came. */
  #listen(opened: WebSocket, forMs: DurationMs | undefined): void {
    const { silenceMaxMs } = this.#options;
    clearTimeout(this.#silence);
    if (silenceMaxMs === undefined) return;
    this.#silence = setTimeout(() => {
      const leftMs = this.#heardAtMs + silenceMaxMs - performance.now();
      if (leftMs > 0) this.#listen(opened, leftMs);
      else this.#lose(opened);
    }, forMs);
  }

  #lose(lost: WebSocket): void {
    if (this.#isEnded || this.#socket !== lost) return;
    this.#socket = undefined;
    this.#next = undefined;
    clearTimeout(this.#silence);
    close(lost);
    this.#options.onClose?.();
    this.#retry = setTimeout(() => this.#connect(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, RETRY_MAX_MS);
  }

  /** A phone that wakes up connects at once, also if the connection was cut while it slept. */
  awake(): void {
    if (document.visibilityState !== 'visible') return;
    const { silenceMaxMs = Infinity } = this.#options;
    if (this.#socket && Date.now() - this.#heardAtDateMs > silenceMaxMs) this.#lose(this.#socket);
    if (this.#socket === undefined) this.#connect();
  }
}

/** Browsers complain about a socket that is closed while it opens. */
function close(socket: WebSocket): void {
  if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener('open', () => socket.close());
  else socket.close();
}
