/** The page that the address names: `#/devices/<id>/logs`. One file is served for all of them. */
import { computed, signal } from '@preact/signals';

/** Page of a display on a wall, at which nobody stands: `#/wall`, or `#/wall/<token>` to log in by itself. */
export const WALL = 'wall';

const hash = signal(location.hash);
/** Scroll positions by address, restored when the user comes back. */
const positions = new Map<string, number>();

/** Whether input would be lost with the page. */
let isHeld = (): boolean => false;
/** The next change of the address happens without a question. */
let isLet = false;

/** Leaves the page although input would be lost, once the user agrees; undefined: nobody wants to leave. */
export const wayOut = signal<(() => void) | undefined>(undefined);

/** While this holds, pages are left only after a question. */
export function holdWhile(held: () => boolean): void {
  isHeld = held;
  // Browsers ask by themselves before a page is closed or loaded again.
  addEventListener('beforeunload', (event) => held() && event.preventDefault());
}

/** Leaves the page, at once or after a question. */
export function leaveBy(way: () => void): void {
  if (!isHeld()) return way();
  wayOut.value = () => {
    wayOut.value = undefined;
    way();
  };
}

/** Stays at an address although the browser is at another one, until the user agrees to leave. */
function stay(address: string, wanted: string, isBack: boolean): void {
  if (isBack) history.pushState('seen', '', address);
  else history.back();
  wayOut.value = () => {
    wayOut.value = undefined;
    isLet = true;
    if (isBack) history.back();
    else location.hash = wanted;
  };
}

history.scrollRestoration = 'manual';
// Going back restores this state, following a link does not.
history.replaceState('seen', '');
addEventListener('hashchange', () => {
  const before = hash.value;
  // The page was not left.
  if (location.hash === before) return;
  const isBack = history.state !== null;
  if (!isLet && isHeld()) return stay(before || location.pathname, location.hash, isBack);
  isLet = false;
  // Somebody who was asked has taken another way.
  wayOut.value = undefined;
  positions.set(before, scrollY);
  history.replaceState('seen', '');
  hash.value = location.hash;
  const isOtherPage = pageOf(before) !== pageOf(location.hash);
  const topPx = isBack ? (positions.get(location.hash) ?? 0) : isOtherPage ? 0 : scrollY;
  // Screen readers begin with the new page; a field that wants the focus takes it afterwards.
  if (isOtherPage) document.getElementById('content')?.focus({ preventScroll: true });
  scrollSoon(topPx);
});

/**
 * A page grows while its content arrives, also above the visible part: the scroll position is held until the user acts.
 */
function scrollSoon(topPx: number): void {
  const left = new AbortController();
  for (const event of ['wheel', 'touchstart', 'pointerdown', 'keydown', 'hashchange'])
    addEventListener(event, () => left.abort(), { once: true, passive: true, signal: left.signal });
  const grown = new ResizeObserver(() => scrollTo(0, topPx));
  const page = document.documentElement;
  left.signal.addEventListener('abort', () => {
    grown.disconnect();
    page.style.overflowAnchor = '';
  });
  // The previous page is shown for two more frames.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (left.signal.aborted) return;
      scrollTo(0, topPx);
      if (topPx === 0) return left.abort();
      page.style.overflowAnchor = 'none';
      grown.observe(document.body);
    }),
  );
}

/** The tabs of one device, and the time ranges of the history, are the same page. */
function pageOf(address: string): string {
  const [first = '', second = ''] = address.replace(/^#\/?/, '').split('/');
  return first === 'history' ? first : `${first}/${second}`;
}

/** Parts of the address after `#/`. */
export const route = computed(() =>
  hash.value
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart),
);

/** A part that cannot be decoded stays as it is, and names no page. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}

/** Goes there without a question: the input is stored, or its subject is gone. */
export function go(address: string): void {
  isLet = location.hash !== address;
  location.hash = address;
}
