/** For calls in tests that never speak with a broker. */
import assert from 'node:assert/strict';

export const NO_BROKERS = {
  carryOut: (): never => assert.fail('there is no broker'),
  release: (): void => undefined,
};
