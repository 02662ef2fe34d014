/** Updates on the wire. */
import * as v from 'valibot';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { shape } from '../../platform/http/index.ts';
import type { UpdateStatus } from './service.ts';

export const updateShape = v.object({
  update: shape.named(
    'Update',
    v.object({
      version: v.pipe(v.string(), v.description('That runs.')),
      supported: v.pipe(
        v.boolean(),
        v.description('The gateway was installed by its package, which takes updates; else it takes none.'),
      ),
      installing: v.pipe(
        v.boolean(),
        v.description(
          'Handed over; the gateway starts again with the new version, or `last_outcome` says why not.',
        ),
      ),
      uploaded: v.nullable(
        v.object({
          version: v.string(),
          architecture: v.pipe(v.string(), v.description('As Debian calls processors.')),
          size_bytes: shape.count(),
          installed_bytes: shape.count(),
          release_notes: v.pipe(
            v.string(),
            v.description(
              'What the package says of itself and of the versions since the one that runs; Markdown.',
            ),
          ),
        }),
      ),
      last_outcome: v.nullable(
        v.object({
          at: shape.instant(),
          message: v.pipe(
            v.string(),
            v.description('`installed`, or why not, or that the version before came back.'),
          ),
        }),
      ),
    }),
  ),
});

export type UpdateOnWire = v.InferOutput<typeof updateShape>['update'];

export function updateToWire({ version, isSupported, isInstalling, uploaded, outcome }: UpdateStatus): {
  update: UpdateOnWire;
} {
  return {
    update: {
      version,
      supported: isSupported,
      installing: isInstalling,
      uploaded: uploaded
        ? {
            version: uploaded.version,
            architecture: uploaded.architecture,
            size_bytes: uploaded.sizeBytes,
            installed_bytes: uploaded.installedBytes,
            release_notes: uploaded.releaseNotes,
          }
        : null,
      last_outcome: outcome ? { at: formatTimestamp(outcome.atMs), message: outcome.message } : null,
    },
  };
}
