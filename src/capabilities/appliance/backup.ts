/** Backups over HTTP: one at a time, because each needs the size of state.db once more. */
import { gatewayError } from '../../lib/errors.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { slugFromName } from '../../lib/slug.ts';
import { type BackupOptions, openBackup } from '../../platform/backup/index.ts';
import type { Site } from '../site/index.ts';

export interface Backups {
  /** @throws GatewayError backup_in_progress (409) */
  open(password: string): Promise<{ fileName: string; stream: ReadableStream<Uint8Array> }>;
}

export function createBackups(options: BackupOptions & { site: Pick<Site, 'get'> }): Backups {
  let isBusy = false;
  return {
    open: async (password) => {
      if (isBusy) throw gatewayError('conflict', 'backup_in_progress', 'Another backup is being made.');
      isBusy = true;
      const { name } = options.site.get();
      try {
        const { stream, ended } = await openBackup(options, password);
        void ended.then(() => (isBusy = false));
        const day = formatTimestamp(options.clock.wallMs()).slice(0, 10);
        return { fileName: `${slugFromName(name, 'gateway', () => false)}-${day}.backup`, stream };
      } catch (error) {
        isBusy = false;
        throw error;
      }
    },
  };
}
