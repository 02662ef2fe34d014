/** Storage of device scripts at the gateway, kept until the device is deleted. */
import type { Limits } from '../../lib/limits.ts';
import type { Log } from '../../platform/log/index.ts';
import type { KeyValueStore } from '../../platform/sqlite/index.ts';
import type { FromModule } from '../../protocol/module.ts';

export type StorageRequest = FromModule & { type: 'storage_read' | 'storage_write' | 'storage_remove' };

/** Executes a storage request of a script; `error` is a sentence for the script. */
export function answerStorage(
  { store, log, limits }: { store: KeyValueStore<Buffer>; log: Log; limits: Limits['module'] },
  deviceId: string,
  request: StorageRequest,
): { value?: Buffer; error?: string } {
  const { key } = request;
  try {
    if (request.type === 'storage_read') {
      const value = store.read(deviceId, key);
      return value ? { value } : {};
    }
    if (request.type === 'storage_remove') store.remove(deviceId, key);
    else {
      const sizeBytes = Buffer.byteLength(key) + request.value.length;
      if (store.bytesBeside(deviceId, key) + sizeBytes > limits.storageBytes)
        return { error: `The storage of a device holds at most ${limits.storageBytes} bytes.` };
      // A script may write the same every second; the card need not know.
      if (!store.read(deviceId, key)?.equals(request.value)) store.write(deviceId, key, request.value);
    }
    return {};
  } catch (error) {
    log.warnLimited('storage', 60_000, 'storage of a script failed', { device_id: deviceId, error });
    return { error: 'The gateway cannot store anything now.' };
  }
}
