/**
 * Photos and documents of devices. A row says what there is, a file below `documents/` in the data folder has its bytes: copies
 * of state.db stay small, and are made every hour. The file is written first and removed last, so no row lacks its file.
 */
import { randomUUID } from 'node:crypto';
import { notFound, requireFound, requireUnderLimit, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import {
  DOCUMENTS_FOLDER,
  keepStream,
  readBeside,
  removeFile,
  removeTree,
  removeUnknown,
  syncBeside,
} from '../../platform/files/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { mediaTypeOf } from './model.ts';
import { createDocumentStore, type StoredDocument } from './store.ts';

interface DocumentsOptions {
  database: Database;
  dataDir: string;
  clock: Clock;
  log: Log;
  devices: Pick<Devices, 'events' | 'require'>;
  limits?: Limits['documents'];
  newId?: () => string;
}

/** Keeps them, in the bounds of `LIMITS.documents`. */
export class Documents {
  readonly #options: DocumentsOptions;
  readonly #limits: Limits['documents'];
  readonly #store: ReturnType<typeof createDocumentStore>;
  readonly #log: Log;
  readonly #folder: string;

  constructor(options: DocumentsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.documents;
    this.#store = createDocumentStore(options.database);
    this.#log = options.log.child({ component: 'documents' });
    this.#folder = `${options.dataDir}/${DOCUMENTS_FOLDER}`;
    // Its rows went with that of the device.
    options.devices.events.on('device_deleted', 'documents', ({ device }) =>
      this.#forget(() => removeTree(`${this.#folder}/${device.id}`)),
    );
    this.#forget(() => this.#removeUnknown());
  }

  /** Documents of one device, the oldest first. */
  of(device: Device): StoredDocument[] {
    return this.#store.of(device.id);
  }

  /** @throws GatewayError document_not_found */
  require(device: Device, id: string): StoredDocument {
    const found = this.#store.get(id);
    const message = `"${device.name}" has no document "${id.slice(0, 64)}".`;
    return requireFound('document_not_found', message, found?.deviceId === device.id ? found : undefined);
  }

  /** @throws GatewayError document_not_found, also when its file is gone */
  async content(document: StoredDocument): Promise<Buffer> {
    const content = await readBeside(this.#pathOf(document));
    if (content) return content;
    throw notFound('document_not_found', `The file of the document "${document.name}" is gone; delete it.`);
  }

  /** Resolves when it is on the disk. @throws GatewayError invalid_document, document_limit_reached */
  async add(device: Device, name: string, bytes: Buffer): Promise<StoredDocument> {
    const { clock, database, devices, newId = randomUUID } = this.#options;
    const mediaType = mediaTypeOf(bytes);
    if (mediaType === undefined)
      throw unprocessable(
        'invalid_document',
        'A document must be a photo (JPEG, PNG, WebP), a PDF or a plain text in UTF-8.',
      );
    this.#requireRoom(device, bytes.length);
    const document: StoredDocument = {
      id: newId(),
      deviceId: device.id,
      name,
      mediaType,
      sizeBytes: bytes.length,
      createdAtMs: clock.wallMs(),
    };
    const path = this.#pathOf(document);
    try {
      await keepStream(path, new Blob([new Uint8Array(bytes)]).stream());
      for (const folder of [`${this.#folder}/${device.id}`, this.#folder, this.#options.dataDir])
        await syncBeside(folder);
      database.transaction(() => {
        devices.require(device.id);
        // Others may have been stored meanwhile.
        this.#requireRoom(device, bytes.length);
        this.#store.insert(document);
      });
    } catch (error) {
      this.#forget(() => removeFile(path));
      // The folder may have gone with its device.
      devices.require(device.id);
      throw error;
    }
    return document;
  }

  remove(document: StoredDocument): void {
    this.#options.database.transaction(() => this.#store.remove(document.id));
    this.#forget(() => removeFile(this.#pathOf(document)));
  }

  #pathOf({ deviceId, id }: StoredDocument): string {
    return `${this.#folder}/${deviceId}/${id}`;
  }

  #requireRoom(device: Device, bytes: number): void {
    const { perDevice, totalBytes } = this.#limits;
    const count = this.#store.count(device.id);
    requireUnderLimit(
      'document_limit_reached',
      `"${device.name}" has ${count} documents. Delete one first.`,
      count,
      perDevice,
    );
    if (this.#store.totalBytes() + bytes <= totalBytes) return;
    throw unprocessable(
      'document_limit_reached',
      `The documents of all devices together would exceed ${totalBytes} bytes. Delete some first.`,
      { limit: totalBytes },
    );
  }

  /**
   * Files without a row: of an upload or a deletion that a power cut interrupted, or of a state from before them. They stay
   * for a while, because a newer state may come back.
   */
  #removeUnknown(): void {
    const { clock } = this.#options;
    const isKnown = (deviceId: string, id: string): boolean => this.#store.get(id)?.deviceId === deviceId;
    const count = removeUnknown(this.#folder, isKnown, clock.wallMs() - this.#limits.unknownKeptMs);
    if (count > 0) this.#log.info('files of documents that nobody knows were removed', { count });
  }

  /** What cannot be removed now goes with a later start. */
  #forget(remove: () => void): void {
    try {
      remove();
    } catch (error) {
      this.#log.warn('a file of a document cannot be removed', { error });
    }
  }
}
