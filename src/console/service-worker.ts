/**
 * Keeps the shell of the console, so that it opens when the gateway is slow or away and can be installed. Nothing of the
 * API is ever kept: what is not one of the files goes past it.
 */
declare const SHELL: readonly string[];
declare const SHELL_VERSION: string;

/** The used part of the worker; the library of types has it only in place of that of pages. */
interface Worker {
  addEventListener(type: 'install' | 'activate', listener: (event: Lasting) => void): void;
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  location: Location;
}

interface Lasting {
  waitUntil(work: Promise<unknown>): void;
}

interface Fetching {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}

const worker = self as unknown as Worker;
const NAME = `shell ${SHELL_VERSION}`;

worker.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(NAME)
      .then((cache) => cache.addAll([...SHELL]))
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener('activate', (event) => {
  const clean = async (): Promise<void> => {
    for (const name of await caches.keys()) if (name !== NAME) await caches.delete(name);
    await worker.clients.claim();
  };
  event.waitUntil(clean());
});

worker.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== 'GET' || origin !== worker.location.origin || !SHELL.includes(pathname)) return;
  // The page itself is asked for first, so that a new version is seen at once; files with a hash never change.
  event.respondWith(pathname === '/' ? freshOrKept(event.request) : keptOrFresh(event.request));
});

async function freshOrKept(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(request);
    if (kept) return kept;
    throw error;
  }
}

async function keptOrFresh(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request);
}
