import { isUtf8 } from 'node:buffer';
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { attachment, listed, query, route, type Route, shape } from '../../platform/http/index.ts';
import { createDocument } from '../../platform/http-description/index.ts';
import { readUpload } from '../../platform/upload/index.ts';
import * as wire from './schema.ts';
import type { DeviceLibrary } from './service.ts';

const DEVICES = '/v3/library/devices';
const DEVICE = `${DEVICES}/{template_id}`;
const YAML = 'application/yaml';
const FIELD = 'data';
const { templateBytes } = LIMITS.library;

/** Operations on the library of devices: extensions of the interface. */
export function libraryRoutes(library: DeviceLibrary): Route[] {
  return [
    ...readRoutes(library),
    blueprintRoute(library),
    ...ownRoutes(library),
    route({
      operation: 'get_template_schema',
      about: 'The form of a device template as JSON Schema, for editors.',
      answer: shape.WHOLE_DOCUMENT,
      GET: ['/v3/library/template.schema.json'],
      // Editors fetch it without a token.
      role: null,
      anonymousPerMinute: LIMITS.http.anonymousDescriptionPerMinute,
      handle: createDocument('application/json', () => library.templateSchema()),
    }),
    route({
      operation: 'list_library_updates',
      about: 'Devices for which the present template makes another blueprint than the one they have.',
      answer: wire.libraryShapes.updates,
      GET: ['/v3/library/updates'],
      role: 'OWNER',
      query: query.pageQuery,
      handle: async ({ query: page }) => listed('updates', await library.updates(), wire.updateToWire, page),
    }),
  ];
}

function readRoutes(library: DeviceLibrary): Route[] {
  return [
    route({
      operation: 'list_library_devices',
      about: 'Devices that the gateway knows how to read, by maker and name.',
      answer: wire.libraryShapes.list,
      GET: [DEVICES],
      role: 'READONLY',
      query: wire.listQuery,
      handle: async ({ query: asked }) => {
        const devices = (await library.devices()).filter((device) => wire.isAsked(device, asked));
        return listed('devices', devices, wire.deviceToWire, asked);
      },
    }),
    route({
      operation: 'get_library_device',
      about: 'Everything to set one up: parameters, connection, values, commands.',
      answer: wire.libraryShapes.one,
      GET: [DEVICE],
      role: 'READONLY',
      errors: ['404 template_not_found', '422 invalid_template'],
      handle: async (call) => ({ device: wire.entryToWire(await library.entry(call.param('template_id'))) }),
    }),
  ];
}

const blueprintRoute = (library: DeviceLibrary): Route =>
  route({
    operation: 'make_library_blueprint',
    about:
      'Compiles the template to an ordinary blueprint and stores it; the same template and parameters give the same one again.',
    answer: wire.libraryShapes.blueprint,
    POST: [`${DEVICE}/blueprint`],
    role: 'OWNER',
    body: wire.blueprintBody,
    errors: ['404 template_not_found', '422 invalid_template'],
    handle: async (call) => {
      const made = await library.blueprint(call.param('template_id'), call.body.parameters ?? {});
      call.note({ blueprint_id: made.blueprint.id });
      return wire.blueprintAnswer(made);
    },
  });

function ownRoutes(library: DeviceLibrary): Route[] {
  return [
    route({
      operation: 'upload_library_device',
      about: 'Stores a device template of your own beside the library; one of the same name is replaced.',
      bodyMedia: [YAML, 'multipart/form-data'],
      answer: wire.libraryShapes.one,
      POST: [DEVICES],
      role: 'INSTALLER',
      body: 'stream',
      bodyBytes: templateBytes + 65_536,
      errors: ['400 invalid_body', '422 invalid_template', '422 template_limit_reached'],
      handle: async (call) => {
        const bytes = await readUpload(call, FIELD, templateBytes);
        if (!isUtf8(bytes)) throw invalidBody(FIELD, 'The template must be a text in UTF-8.');
        const entry = await library.upload(bytes.toString('utf8'));
        call.note({ template_id: entry.id });
        return { device: wire.entryToWire(entry) };
      },
    }),
    route({
      operation: 'get_library_template',
      about: 'A template of your own as it was uploaded.',
      answer: { mediaType: YAML, about: 'The template.' },
      GET: [`${DEVICE}/template`],
      role: 'READONLY',
      errors: ['404 template_not_found'],
      handle: (call) => {
        const id = call.param('template_id');
        return attachment(Buffer.from(library.text(id)), YAML, `${id}.yml`);
      },
    }),
    route({
      operation: 'delete_library_device',
      about: 'Deletes a template of your own; blueprints that were made of it stay.',
      answer: shape.nothing(),
      DELETE: [DEVICE],
      role: 'INSTALLER',
      errors: ['404 template_not_found'],
      handle: (call) => library.remove(call.param('template_id')),
    }),
  ];
}
