/**
 * To be called in each thread that gives memory away, before it has run for long. The runtime optimizes code for memory
 * that never moves, and when the first piece moves away, throws all of this code away: the next questions would find a
 * store whose code is interpreted, and processors that compile it once more.
 */
export function expectMovingMemory(): void {
  new ArrayBuffer(1).transfer(0);
}
