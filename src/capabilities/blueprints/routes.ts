import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { attachment, listed, query, route, type Route, shape } from '../../platform/http/index.ts';
import { readUpload } from '../../platform/upload/index.ts';
import * as wire from './schema.ts';
import type { Blueprints } from './service.ts';

/** The largest zip and what a form adds to it. */
const UPLOAD_BYTES = LIMITS.http.zipBodyBytes + 65_536;
const FIELD = 'data';
/** Callers without a token, on a box that belongs to nobody too: calls per minute and address. */
const WITHOUT_TOKEN = { anonymousPerMinute: LIMITS.http.anonymousValidatePerMinute, beforeClaim: true };

/** Operations on blueprints and device profiles (docs/interface/http.md#blueprints-and-profiles). */
export function blueprintRoutes(service: Blueprints): Route[] {
  // Fixed paths first: `download_device_profiles` must not be taken for an id.
  return [...profileRoutes(service), ...uploadRoutes(service), ...readRoutes(service)];
}

function readRoutes(service: Blueprints): Route[] {
  return [
    route({
      operation: 'list_blueprints',
      about: 'All blueprints by id, built-in ones too: an extension of the interface.',
      answer: wire.blueprintShapes.list,
      GET: ['/v3/blueprints'],
      role: 'READONLY',
      query: query.pageQuery,
      handle: (call) => {
        const { blueprints, totalCount } = service.list(call.query.limit, call.query.offset);
        return { blueprints: blueprints.map(wire.listedToWire), total_count: totalCount };
      },
    }),
    route({
      operation: 'get_blueprint',
      about: 'One blueprint.',
      answer: wire.blueprintShapes.one,
      GET: ['/v3/blueprints/{blueprint_id}'],
      idsOnly: true,
      role: 'READONLY',
      errors: ['404 blueprint_not_found'],
      handle: (call) => ({ blueprint: wire.toWire(service.require(call.param('blueprint_id'))) }),
    }),
    route({
      operation: 'get_blueprint_by_name',
      about: 'A gateway has no public registry: it finds only the names of its built-in blueprints.',
      answer: wire.blueprintShapes.one,
      GET: ['/v3/blueprints/{namespace}/{blueprint_name}/{tag}'],
      role: 'READONLY',
      errors: ['404 blueprint_not_found'],
      handle: (call) => ({
        blueprint: wire.toWire(
          service.requireByName(call.param('namespace'), call.param('blueprint_name'), call.param('tag')),
        ),
      }),
    }),
    route({
      operation: 'remove_blueprint',
      about: 'Removes an uploaded blueprint that no device has: an extension of the interface.',
      answer: shape.nothing(),
      DELETE: ['/v3/blueprints/{blueprint_id}'],
      idsOnly: true,
      role: 'OWNER',
      errors: ['404 blueprint_not_found', '409 blueprint_in_use', '422 blueprint_built_in'],
      handle: (call) => service.remove(call.param('blueprint_id')),
    }),
    route({
      operation: 'get_blueprint_zip',
      about: 'ORIGINAL is the upload byte by byte, COMPILED what devices and clients see.',
      answer: wire.blueprintShapes.blueprintZip,
      GET: ['/v3/blueprints/{blueprint_id}/zip'],
      role: 'READONLY',
      query: v.object({
        view: query.choice(['COMPILED', 'ORIGINAL'], 'COMPILED', 'As devices run it, or as it was uploaded.'),
      }),
      errors: ['404 blueprint_not_found'],
      handle: async (call) => {
        const id = call.param('blueprint_id');
        const zip = await service.zip(id, call.query.view);
        return attachment(zip, wire.ZIP, `blueprint-${id}-${call.query.view.toLowerCase()}.zip`);
      },
    }),
  ];
}

function uploadRoutes(service: Blueprints): Route[] {
  return [
    route({
      operation: 'validate_blueprint',
      about: 'Lists the problems of a blueprint; stores nothing.',
      bodyMedia: wire.UPLOAD_MEDIA,
      answer: wire.blueprintShapes.validation,
      isReading: true,
      POST: ['/v3/blueprints/validate'],
      role: null,
      ...WITHOUT_TOKEN,
      body: 'stream',
      bodyBytes: UPLOAD_BYTES,
      errors: ['400 invalid_body'],
      handle: async (call) => {
        const zip = await readUpload(call, FIELD, LIMITS.http.zipBodyBytes);
        // All callers without a token share one rate.
        const problems = await service.validate(zip, call.principal.rateKey);
        return problems.length === 0 ? {} : { validation_errors: problems };
      },
    }),
    route({
      operation: 'upload_blueprint',
      about: 'Stores a blueprint under a new id.',
      bodyMedia: wire.UPLOAD_MEDIA,
      answer: wire.blueprintShapes.uploaded,
      POST: ['/v3/blueprints/upload'],
      role: 'OWNER',
      body: 'stream',
      bodyBytes: UPLOAD_BYTES,
      errors: ['400 invalid_body', '422 invalid_blueprint'],
      handle: async (call) => {
        const uploaded = await service.upload(await readUpload(call, FIELD, LIMITS.http.zipBodyBytes));
        const blueprint = wire.toWire(uploaded);
        const { warnings } = uploaded;
        call.note({ blueprint_id: blueprint.id });
        // The interface shows the fields alone, its clients read them inside `blueprint`.
        return { blueprint, ...blueprint, ...(warnings.length > 0 && { warnings }) };
      },
    }),
  ];
}

function profileRoutes(service: Blueprints): Route[] {
  return [
    route({
      operation: 'list_device_profiles',
      about: 'All device profiles by id with their source: an extension of the interface.',
      answer: wire.blueprintShapes.profiles,
      GET: ['/v3/blueprints/device_profiles'],
      role: 'READONLY',
      query: query.pageQuery,
      handle: ({ query: page }) => listed('profiles', service.profiles.list(), wire.profileToWire, page),
    }),
    route({
      operation: 'get_device_profile',
      about: 'One device profile: an extension of the interface.',
      answer: wire.blueprintShapes.profile,
      GET: ['/v3/blueprints/device_profiles/{profile_id}'],
      idsOnly: true,
      role: 'READONLY',
      errors: ['404 profile_not_found'],
      handle: (call) => ({ profile: wire.profileToWire(service.profiles.require(call.param('profile_id'))) }),
    }),
    route({
      operation: 'download_device_profiles',
      about: 'All device profiles.',
      answer: wire.blueprintShapes.profilesZip,
      GET: ['/v3/blueprints/device_profiles/download', '/v3/blueprints/download_device_profiles'],
      role: 'READONLY',
      handle: async () => attachment(await service.profiles.zip(), wire.ZIP, 'device-profiles.zip'),
    }),
    route({
      operation: 'upload_device_profiles',
      about: 'Adds profiles and replaces those of the same path; the others stay.',
      bodyMedia: wire.UPLOAD_MEDIA,
      answer: wire.blueprintShapes.profilesUploaded,
      POST: ['/v3/blueprints/device_profiles/upload', '/v3/blueprints/upload_device_profiles'],
      role: 'OWNER',
      body: 'stream',
      bodyBytes: UPLOAD_BYTES,
      query: v.object({ expand: query.choices(['files'], 'files: what each file became.') }),
      errors: ['400 invalid_body', '422 invalid_profiles'],
      handle: async (call) => {
        const zip = await readUpload(call, FIELD, LIMITS.http.zipBodyBytes);
        const files = (await service.profiles.upload(zip)).map(wire.uploadedFileToWire);
        return call.query.expand.includes('files') ? { files } : {};
      },
    }),
    route({
      operation: 'remove_device_profile',
      about:
        'Removes an uploaded profile; a changed one becomes the built-in one again. Accepted blueprints stay: an extension of the interface.',
      answer: shape.nothing(),
      DELETE: ['/v3/blueprints/device_profiles/{profile_id}'],
      role: 'OWNER',
      errors: ['404 profile_not_found', '409 profile_in_use', '422 profile_built_in'],
      handle: (call) => service.profiles.remove(call.param('profile_id')),
    }),
  ];
}
