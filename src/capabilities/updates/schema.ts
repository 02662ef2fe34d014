/** Updates on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import { TRIAL_FAILURE_REASONS } from '../../platform/packages/index.ts';
import type { UpdateStatus } from './service.ts';

const uploadedShape = v.object({
  version: v.string(),
  architecture: shape.about(v.string(), 'As Debian calls processors.'),
  size_bytes: shape.count(),
  installed_bytes: shape.count(),
  release_notes: shape.about(
    v.string(),
    'What the package says of itself and of the versions since the one that runs; Markdown.',
  ),
});

const outcomeShape = v.object({
  at: shape.instant(),
  message: shape.about(v.string(), '`installed`, or why not, or that the version before came back.'),
});

const failedTrialShape = v.object({
  at: shape.instant(),
  version: v.string(),
  reason: shape.about(
    v.picklist(TRIAL_FAILURE_REASONS),
    'NOT_READY: not within the time of a trial; ENDED: by itself, five times; REFUSED: ended with 78, as with ' +
      'a database of a newer version; HUNG: the watchdog ended it; CUT_OFF: each start was cut off, as by power; ' +
      'NO_COPY: not started, as there was no room for a copy of the state.',
  ),
  status: shape.about(v.nullable(v.string()), 'Exit code or signal with which it ended last.'),
  words: shape.about(
    v.nullable(v.string()),
    'What it said last, or what did not become ready; at most 300 characters.',
  ),
});

export const updateShape = v.object({
  update: shape.named(
    'Update',
    v.object({
      version: shape.about(v.string(), 'That runs.'),
      supported: shape.about(
        v.boolean(),
        'The gateway was installed by its package, which takes updates; else it takes none.',
      ),
      installing: shape.about(
        v.boolean(),
        'Handed over; the gateway starts again with the new version, or `last_outcome` says why not.',
      ),
      uploaded: v.nullable(uploadedShape),
      last_outcome: v.nullable(outcomeShape),
      failed_trial: v.nullable(
        shape.about(
          failedTrialShape,
          'Why the version that was installed last went away by itself, however it was installed; null when it stayed. ' +
            'The next installation ends it.',
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
