/** Changes that the device is asked about first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDeviceSideConfiguration } from '../../../src/capabilities/device-configuration/routes.ts';
import { settle } from '../../support/test-clock.ts';
import { startConfiguration } from './support.ts';

describe('a change that the device thinks about', () => {
  for (const change of ['update', 'resetAll'] as const)
    test(`a change that the device thinks about is refused when the device is deleted meanwhile: ${change}`, async (t) => {
      const setup = startConfiguration(t);
      const { configuration, device, changes } = setup;
      const side = createDeviceSideConfiguration(configuration);
      configuration.update(device, 'main', 'OWNER', { set: { limit: 3 }, reset: [] });
      changes.length = 0;
      let agree = (): void => undefined;
      configuration.side = {
        judge: () => new Promise((resolve) => (agree = () => resolve(undefined))),
        read: async () => undefined,
      };
      const lost =
        change === 'update'
          ? side.update(device, 'main', 'OWNER', { set: { limit: 9 }, reset: [] })
          : side.resetAll(device, 'main', 'OWNER');
      await settle();
      setup.deleteDevice(device);
      agree();
      await assert.rejects(lost, { code: 'device_not_found' });
      assert.deepEqual(changes, []);
    });
});
