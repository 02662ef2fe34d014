/** The page's stream, controlled by a test. */
import type { Page, WebSocketRoute } from 'playwright-core';

/** What the page says of it: once some attempts have failed while requests are answered, it names the proxy. */
const IS_CUT = /No live connection to the gateway\.|The proxy does not pass WebSockets/;

/** The line of live messages: it can be cut and mended, and more can be said on it. */
export function liveLine() {
  const sockets = new Set<WebSocketRoute>();
  let isCut = false;
  return {
    lay: (page: Page): Promise<void> =>
      page.routeWebSocket(/\/v3\/devices(\?|$)/, (socket) => {
        if (isCut) return void socket.close();
        sockets.add(socket);
        socket.connectToServer();
      }),
    cut: async (page: Page): Promise<void> => {
      isCut = true;
      for (const socket of sockets) await socket.close();
      sockets.clear();
      await page.getByText(IS_CUT).waitFor();
    },
    mend: async (page: Page): Promise<void> => {
      isCut = false;
      await page.evaluate("dispatchEvent(new Event('online'))");
      await page.getByText(IS_CUT).waitFor({ state: 'detached' });
    },
    say: (message: object): void => {
      for (const socket of sockets) socket.send(JSON.stringify(message));
    },
  };
}
