/** The WebSocket on which the gateway tells everything that happens to devices; it reconnects by itself. */
import type { MonitorMessage } from './wire.ts';

export interface MonitorOptions {
  onOpen(): void;
  onClose(): void;
  onMessage(message: MonitorMessage): void;
}

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;

/** Connects; returns the end. */
export function openMonitor(options: MonitorOptions): () => void {
  let socket: WebSocket | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let delayMs = RETRY_FIRST_MS;
  let isEnded = false;

  function connect(): void {
    clearTimeout(retry);
    const { protocol, host } = location;
    const opened = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/v3/devices`);
    socket = opened;
    opened.addEventListener('open', () => {
      delayMs = RETRY_FIRST_MS;
      options.onOpen();
    });
    opened.addEventListener('message', ({ data }) =>
      options.onMessage(JSON.parse(String(data)) as MonitorMessage),
    );
    opened.addEventListener('close', () => {
      if (isEnded || socket !== opened) return;
      options.onClose();
      retry = setTimeout(connect, delayMs);
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
    });
  }

  /** A phone that wakes up should not wait for the next try. */
  function wake(): void {
    if (document.visibilityState === 'visible' && socket?.readyState === WebSocket.CLOSED) connect();
  }

  document.addEventListener('visibilitychange', wake);
  addEventListener('online', wake);
  connect();
  return () => {
    isEnded = true;
    clearTimeout(retry);
    document.removeEventListener('visibilitychange', wake);
    removeEventListener('online', wake);
    socket?.close();
  };
}
