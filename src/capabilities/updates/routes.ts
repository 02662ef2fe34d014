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
      about: 'Which version runs, which was uploaded and what it brings, and how the last update ended.',
      answer: updateShape,
      GET: [UPDATE],
      role: 'OWNER',
      handle: () => updateToWire(updates.status()),
    }),
    route({
      operation: 'upload_update',
      about:
        'Takes the package of a newer version and judges it: who signed it, for which processor, how much room it needs. ' +
        'Changes nothing yet; a restart forgets it.',
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
        'Has the uploaded package installed. The gateway stops and starts with it; a version that does not become ready ' +
        'goes away by itself, and this one comes back with its state.',
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
      about: 'Forgets the uploaded package.',
      answer: updateShape,
      errors: ['409 update_in_progress'],
      DELETE: [UPDATE],
      role: 'INSTALLER',
      handle: () => updateToWire(updates.discard()),
    }),
  ];
}
