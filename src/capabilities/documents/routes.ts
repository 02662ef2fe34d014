import { LIMITS } from '../../lib/limits.ts';
import { type Call, listed, query, route, type Route, shape } from '../../platform/http/index.ts';
import { readUpload } from '../../platform/upload/index.ts';
import { type Device, devicePaths, type Devices } from '../devices/index.ts';
import { MEDIA_TYPES } from './model.ts';
import * as wire from './schema.ts';
import type { Documents } from './service.ts';
import type { StoredDocument } from './store.ts';

interface RouteOptions {
  documents: Documents;
  devices: Pick<Devices, 'require'>;
}

const FIELD = 'data';
/** What a form adds to the file. */
const FORM_BYTES = 65_536;
const { documentBytes } = LIMITS.documents;

/** Operations on photos and documents of devices: extensions of the interface. */
export function documentRoutes(options: RouteOptions): Route[] {
  return [...readingRoutes(options), ...changingRoutes(options)];
}

const deviceOf = ({ devices }: RouteOptions, call: Pick<Call, 'param'>): Device =>
  devices.require(call.param('device_id'));

const documentOf = (options: RouteOptions, call: Pick<Call, 'param'>): StoredDocument =>
  options.documents.require(deviceOf(options, call), call.param('document_id'));

function readingRoutes(options: RouteOptions): Route[] {
  const { documents } = options;
  return [
    route({
      operation: 'list_device_documents',
      about: 'Photos and documents of a device, the oldest first.',
      answer: wire.documentShapes.list,
      GET: devicePaths('/documents'),
      role: 'READONLY',
      query: query.pageQuery,
      handle: (call) => listed('documents', documents.of(deviceOf(options, call)), wire.toWire, call.query),
    }),
    route({
      operation: 'get_device_document',
      about: 'One document, without what it holds.',
      answer: wire.documentShapes.one,
      GET: devicePaths('/documents/{document_id}'),
      role: 'READONLY',
      errors: ['404 document_not_found'],
      handle: (call) => ({ document: wire.toWire(documentOf(options, call)) }),
    }),
    route({
      operation: 'get_device_document_content',
      about: 'The file, to be saved. Its `content-type` is the `media_type` of the document.',
      answer: { mediaType: 'application/octet-stream', about: 'The file.' },
      GET: devicePaths('/documents/{document_id}/content'),
      role: 'READONLY',
      errors: ['404 document_not_found'],
      handle: async (call) => {
        const document = documentOf(options, call);
        const content = await documents.content(document);
        return new Response(new Uint8Array(content), { headers: wire.contentHeaders(document) });
      },
    }),
  ];
}

function changingRoutes(options: RouteOptions): Route[] {
  const { documents } = options;
  return [
    route({
      operation: 'upload_device_document',
      about: 'Stores a photo or document of a device. What it is is seen from its content.',
      bodyMedia: [...MEDIA_TYPES, 'application/octet-stream', 'multipart/form-data'],
      answer: wire.documentShapes.one,
      POST: devicePaths('/documents'),
      role: 'OWNER',
      query: wire.uploadQuery,
      body: 'stream',
      bodyBytes: documentBytes + FORM_BYTES,
      errors: ['400 invalid_body', '422 invalid_document', '422 document_limit_reached'],
      handle: async (call) => {
        const device = deviceOf(options, call);
        const bytes = await readUpload(call, FIELD, documentBytes);
        const document = await documents.add(device, call.query.name, bytes);
        call.note({ document_id: document.id, document_name: document.name });
        return { document: wire.toWire(document) };
      },
    }),
    route({
      operation: 'delete_device_document',
      about: 'Deletes a document and its file.',
      answer: shape.nothing(),
      DELETE: devicePaths('/documents/{document_id}'),
      role: 'OWNER',
      errors: ['404 document_not_found'],
      handle: (call) => {
        const document = documentOf(options, call);
        call.note({ document_name: document.name });
        documents.remove(document);
      },
    }),
  ];
}
