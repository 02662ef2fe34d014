/** Updates on the wire. */
import * as v from 'valibot';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { shape } from '../../platform/http/index.ts';
import { TRIAL_FAILURE_REASONS } from '../../platform/packages/index.ts';
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
      failed_trial: v.nullable(
        v.pipe(
          v.object({
            at: shape.instant(),
            version: v.string(),
            reason: v.pipe(
              v.picklist(TRIAL_FAILURE_REASONS),
              v.description(
                'NOT_READY: not within the time of a trial; ENDED: by itself, five times; REFUSED: ended with 78, as with ' +
                  'a database of a newer version; HUNG: the watchdog ended it; CUT_OFF: each start was cut off, as by power; ' +
                  'NO_COPY: not started, as there was no room for a copy of the state.',
              ),
            ),
            status: v.pipe(
              v.nullable(v.string()),
              v.description('Exit code or signal with which it ended last.'),
            ),
            words: v.pipe(
              v.nullable(v.string()),
              v.description('What it said last, or what did not become ready; at most 300 characters.'),
            ),
          }),
          v.description(
            'Why the version that was installed last went away by itself, however it was installed; null when it stayed. ' +
              'The next installation ends it.',
          ),
        ),
      ),
    }),
  ),
});

export type UpdateOnWire = v.InferOutput<typeof updateShape>['update'];

export function updateToWire({
  version,
  isSupported,
  isInstalling,
  uploaded,
  outcome,
  failedTrial,
}: UpdateStatus): {
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
      failed_trial: failedTrial
        ? {
            at: formatTimestamp(failedTrial.atMs),
            version: failedTrial.version,
            reason: failedTrial.reason,
            status: failedTrial.status ?? null,
            words: failedTrial.words ?? null,
          }
        : null,
    },
  };
}
