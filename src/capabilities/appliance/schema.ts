/** What a client's first page says of rules, backups and users, as it stands on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';

/** From `GET /v3/site/attention`. */
export const attentionShape = v.object({
  attention: shape.named(
    'Attention',
    v.object({
      are_rules_suspended: shape.about(
        v.boolean(),
        'The engine is suspended, and there are rules that should run.',
      ),
      rules_at_fault: shape.about(
        v.array(
          v.object({
            id: shape.id(),
            slug: v.string(),
            is_broken: shape.about(v.boolean(), 'The script does not compile; else it failed while running.'),
          }),
        ),
        'Enabled rules that do not run because of their script.',
      ),
      is_backup_made: v.optional(
        shape.about(v.boolean(), 'There was a backup, by plan or by hand. From OWNER on; else absent.'),
      ),
      backup_error: v.optional(
        shape.about(
          v.nullable(v.string()),
          'Why the last backup by plan failed; null: it did not. From OWNER on; else absent.',
        ),
      ),
      user_count: v.optional(
        shape.about(
          v.pipe(v.number(), v.integer(), v.minValue(0)),
          'Users with a name and password. From INSTALLER on; else absent.',
        ),
      ),
    }),
    {
      are_rules_suspended: false,
      rules_at_fault: [
        { id: '5b0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', slug: 'surplus-to-load', is_broken: false },
      ],
      is_backup_made: true,
      backup_error: null,
      user_count: 2,
    },
  ),
});

export type AttentionOnWire = v.InferOutput<typeof attentionShape>['attention'];
