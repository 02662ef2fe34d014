/** Shapes on the wire. Source: docs/interface/http.md#documents. */
import * as v from 'valibot';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { fileNameOf, MEDIA_TYPES } from './model.ts';
import type { StoredDocument } from './store.ts';

export const uploadQuery = v.object({
  name: v.pipe(
    query.text('What people call it, 1 to 255 characters; absent: `document`.'),
    v.transform((text) => text ?? 'document'),
    shape.name(),
  ),
});

const documentShape = shape.named(
  'Document',
  v.object({
    id: shape.id(),
    device_id: shape.id(),
    name: v.string(),
    media_type: v.picklist(MEDIA_TYPES),
    size_bytes: shape.count(),
    created_at: shape.instant(),
  }),
  {
    id: '0d2c9a5e-6f0e-4a31-9c55-2b1f3b8a9d07',
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    name: 'Type plate',
    media_type: 'image/jpeg',
    size_bytes: 312_480,
    created_at: '2026-03-01T08:00:00.123Z',
  },
);

export const documentShapes = {
  one: v.object({ document: documentShape }),
  list: shape.listOf('documents', documentShape),
};

export type DocumentOnWire = v.InferOutput<typeof documentShape>;

export const toWire = (document: StoredDocument): DocumentOnWire => ({
  id: document.id,
  device_id: document.deviceId,
  name: document.name,
  media_type: document.mediaType,
  size_bytes: document.sizeBytes,
  created_at: formatTimestamp(document.createdAtMs),
});

/** Saved and never opened as a page of the gateway, whatever it holds. */
export function contentHeaders({ name, mediaType, sizeBytes }: StoredDocument): Record<string, string> {
  const file = fileNameOf(name, mediaType);
  const encoded = encodeURIComponent(file).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    'content-type': mediaType === 'text/plain' ? 'text/plain; charset=utf-8' : mediaType,
    'content-disposition': `attachment; filename="${file.replaceAll(/[^\w. -]/g, '_')}"; filename*=UTF-8''${encoded}`,
    'content-length': String(sizeBytes),
    'cache-control': 'no-store',
  };
}
