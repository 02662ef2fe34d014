/**
 * After an update the gateway serves another console than the one that runs here, whose further parts are gone: the next
 * page is the other's.
 */
import { callForText } from './api.ts';
import { route, WALL } from './route.ts';

let isOther = false;

/** Looks for it, as after a lost connection. */
export async function lookForNewConsole(): Promise<void> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src') ?? '';
  const page = await callForText('GET', '/', undefined, 'text/html').catch(() => own);
  isOther = !page.includes(own);
  // Nobody goes to another page there.
  if (isOther && route.value[0] === WALL) location.reload();
}

// A user who chose to stay on a page with input has not changed the route, and keeps it.
route.subscribe(() => {
  if (isOther) location.reload();
});
