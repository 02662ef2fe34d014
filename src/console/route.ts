/** The page that the address names: `#/devices/<id>/logs`. One file is served for all of them. */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
  scrollTo(0, 0);
});

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

export function go(address: string): void {
  location.hash = address;
}
