/**
 * Shows one sentence in a browser that is too old for the console, in place of a page that would fail somewhere. Browsers
 * that cannot even read the script are found by `@supports` in the styles.
 */
if (!('toSorted' in Array.prototype) || !('TextDecoderStream' in globalThis)) {
  document.getElementById('too-old')?.removeAttribute('hidden');
  document.getElementById('app')?.remove();
}
