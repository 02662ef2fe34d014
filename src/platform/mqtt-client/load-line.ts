/** With the library, a tenth of the gateway's program that most boxes never use. */
export function loadLine() {
  return import('./line.ts');
}
