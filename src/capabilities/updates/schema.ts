/** Updates on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import { TRIAL_FAILURE_REASONS } from '../../platform/packages/index.ts';
import type { UpdateStatus } from './service.ts';

const uploadedShape = v.object({
  version: v.string(),
  architecture: v.pipe(v.string(), v.description('As Debian calls processors.')),
  size_bytes: shape.count(),
  installed_bytes: shape.count(),
  release_notes: v.pipe(
    v.string(),
    v.description('What the package says of itself and of the versions since the one that runs; Markdown.'),
  ),
});

const outcomeShape = v.object({
  at: shape.instant(),
  message: v.pipe(
    v.string(),
    v.description('`installed`, or why not, or that the version before came back.'),
  ),
});

const failedTrialShape = v.object({
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
  status: v.pipe(v.nullable(v.string()), v.description('Exit code or signal with which it ended last.')),
  words: v.pipe(
    v.nullable(v.string()),
    v.description('What it said last, or what did not become ready; at most 300 characters.'),
  ),
});

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
      uploaded: v.nullable(uploadedShape),
      last_outcome: v.nullable(outcomeShape),
      failed_trial: v.nullable(
        v.pipe(
          failedTrialShape,
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

export function updateToWire({ uploaded, outcome, failedTrial, ...status }: UpdateStatus): {
  update: UpdateOnWire;
} {
  return {
    update: shape.filled(updateShape.entries.update, {
      ...status,
      uploaded: uploaded && shape.filled(uploadedShape, uploaded),
      lastOutcome: outcome && shape.filled(outcomeShape, outcome),
      failedTrial: failedTrial && shape.filled(failedTrialShape, failedTrial),
    }),
  };
}
