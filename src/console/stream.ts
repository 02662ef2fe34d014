/** A WebSocket on which the gateway tells what happens; it reconnects by itself. */

interface StreamOptions<Message> {
  onOpen?(): void;
  onClose?(): void;
  onMessage(message: Message): void;
  /** Silence after which the connection counts as lost: browsers hide pings, and a dead line looks like a quiet one. */
  silenceMaxMs?: number;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;

/** Connects to a path of the API; returns the end. */
export function openStream<Message>(path: string, options: StreamOptions<Message>): () => void {
  const { silenceMaxMs } = options;
  /** Undefined while there is none. */
  let socket: WebSocket | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let delayMs = RETRY_FIRST_MS;
  let heardAtMs = 0;
  let isEnded = false;

  function connect(): void {
    clearTimeout(retry);
    const { protocol, host } = location;
    const opened = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}${path}`);
    socket = opened;
    heardAtMs = performance.now();
    listen(opened);
    opened.addEventListener('open', () => {
      delayMs = RETRY_FIRST_MS;
      options.onOpen?.();
    });
    opened.addEventListener('message', ({ data }) => {
      heardAtMs = performance.now();
      options.onMessage(JSON.parse(String(data)) as Message);
    });
    opened.addEventListener('close', () => lose(opened));
  }

  /** One timer for however many messages: it looks how long ago the last one was. */
  function listen(opened: WebSocket, forMs = silenceMaxMs): void {
    clearTimeout(silence);
    if (silenceMaxMs === undefined) return;
    silence = setTimeout(() => {
      const leftMs = heardAtMs + silenceMaxMs - performance.now();
      if (leftMs > 0) listen(opened, leftMs);
      else lose(opened);
    }, forMs);
  }

  function lose(lost: WebSocket): void {
    if (isEnded || socket !== lost) return;
    socket = undefined;
    clearTimeout(silence);
    lost.close();
    options.onClose?.();
    retry = setTimeout(connect, delayMs);
    delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
  }

  /** A phone that wakes up should not wait for the next try. */
  function wake(): void {
    if (document.visibilityState === 'visible' && socket === undefined) connect();
  }

  document.addEventListener('visibilitychange', wake);
  addEventListener('online', wake);
  connect();
  return () => {
    isEnded = true;
    clearTimeout(retry);
    clearTimeout(silence);
    document.removeEventListener('visibilitychange', wake);
    removeEventListener('online', wake);
    socket?.close();
  };
}
