/**
 * Shows one sentence in a browser that is too old for the console, in place of a page that would fail somewhere. Of what the
 * oldest ones must have, the newest is looked for. Written without words that older browsers cannot read.
 */
if (
  !('toSorted' in Array.prototype) ||
  !('TextDecoderStream' in globalThis) ||
  !CSS.supports('color', 'color-mix(in srgb, red, blue)')
) {
  document.getElementById('too-old')?.removeAttribute('hidden');
  document.getElementById('app')?.remove();
}
