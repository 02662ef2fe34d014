/** The page that the address names: `#/devices/<id>/logs`. One file is served for all of them. */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);
/** How far pages were scrolled, by address, for who comes back to them. */
const positions = new Map<string, number>();

/** Whether something would be lost with the page. */
let isHeld = (): boolean => false;
/** The next change of the address is wanted, whatever is lost by it. */
let isLet = false;

/** The way that somebody wants to go, though something would be lost; undefined: none. */
export const wayOut = signal<(() => void) | undefined>(undefined);

/** Pages are not left unasked while this holds. */
export function holdWhile(held: () => boolean): void {
  isHeld = held;
  // Browsers ask by themselves before a page is closed or loaded again.
  addEventListener('beforeunload', (event) => held() && event.preventDefault());
}

/** Takes a way that leaves the page, at once or when it was asked. */
export function leaveBy(way: () => void): void {
  if (!isHeld()) return way();
  wayOut.value = () => {
    wayOut.value = undefined;
    way();
  };
}

/** Stays at an address though the browser is at another one, until the way there is taken. */
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
// Who comes back finds this, who follows a link does not.
history.replaceState('seen', '');
addEventListener('hashchange', () => {
  const before = hash.value;
  // Where one has stayed.
  if (location.hash === before) return;
  const isBack = history.state !== null;
  if (!isLet && isHeld()) return stay(before || location.pathname, location.hash, isBack);
  isLet = false;
  // Whoever was asked has gone another way.
  wayOut.value = undefined;
  positions.set(before, scrollY);
  history.replaceState('seen', '');
  hash.value = location.hash;
  const isOtherPage = pageOf(before) !== pageOf(location.hash);
  const topPx = isBack ? (positions.get(location.hash) ?? 0) : isOtherPage ? 0 : scrollY;
  // What is new is read first, by those who do not see it appear; a field that wants the focus takes it after.
  if (isOtherPage) document.getElementById('content')?.focus({ preventScroll: true });
  scrollSoon(topPx);
});

/**
 * A page grows while what it shows arrives, as late as that may be, above what one sees too: it is held there
 * until somebody does something.
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
  // The page before stands for two frames more.
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

/** Parts of one device, and stretches of one history, are the same page. */
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

/** What no address can mean is no page. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}

/** Goes there without asking: what was typed is stored, or what it was about is gone. */
export function go(address: string): void {
  isLet = location.hash !== address;
  location.hash = address;
}
