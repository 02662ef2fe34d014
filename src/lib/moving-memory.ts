/**
 * To be called in each thread that transfers buffers, before it has run for long. The runtime optimizes code for buffers
 * that never move, and throws this code away when the first one is transferred: the next queries would run interpreted
 * code while it is compiled again.
 */
export function expectMovingMemory(): void {
  new ArrayBuffer(1).transfer(0);
}
