import { LIMITS } from '../../lib/limits.ts';
import { route, type Route } from '../../platform/http/index.ts';
import { updateShape, updateToWire } from './schema.ts';
import type { Updates } from './service.ts';

const UPDATE = '/v3/update';

/** Operations on updates: extensions of the interface. */
export function updateRoutes(updates: Updates): Route[] {
  return [
    route({
      operation: 'get_update',
      about:
        'The running version, the uploaded one with its release notes, and the outcome of the last update.',
      answer: updateShape,
      GET: [UPDATE],
      role: 'OWNER',
      handle: () => updateToWire(updates.status()),
    }),
    route({
      operation: 'upload_update',
      about:
        'Uploads the package of a newer version and checks its signature, its processor and the room it needs. ' +
        'Changes nothing yet; a restart deletes it.',
      bodyMedia: ['application/octet-stream'],
      answer: updateShape,
      errors: ['409 update_in_progress', '413 payload_too_large', '422 update_refused'],
      POST: [`${UPDATE}/upload`],
      role: 'INSTALLER',
      body: 'stream',
      bodyBytes: LIMITS.update.packageBytes,
      handle: async (call) => {
        const status = await updates.upload(call.stream());
        call.note({ version: status.uploaded?.version ?? '' });
        return updateToWire(status);
      },
    }),
    route({
      operation: 'install_update',
      about:
        'Installs the uploaded package and restarts the gateway with it. If the new version does not become ready, ' +
        'this one comes back with its state.',
      answer: updateShape,
      errors: ['409 update_in_progress', '422 update_refused'],
      POST: [`${UPDATE}/install`],
      role: 'INSTALLER',
      handle: (call) => {
        call.note({ version: updates.status().uploaded?.version ?? '' });
        return updateToWire(updates.install());
      },
    }),
    route({
      operation: 'discard_update',
      about: 'Deletes the uploaded package.',
      answer: updateShape,
      errors: ['409 update_in_progress'],
      DELETE: [UPDATE],
      role: 'INSTALLER',
      handle: () => updateToWire(updates.discard()),
    }),
  ];
}
