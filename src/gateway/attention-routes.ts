/** Rules, backups and users on an owner's first page, in one answer instead of four lists. */
import { roleIncludes } from '../lib/role.ts';
import { route, type Route } from '../platform/http/index.ts';
import { attentionShape } from '../capabilities/appliance/index.ts';
import { sitePaths } from '../capabilities/site/index.ts';
import type { Capabilities } from './capabilities.ts';

export function attentionRoutes(parts: Pick<Capabilities, 'auth' | 'backups' | 'rules'>): Route[] {
  return [
    route({
      operation: 'get_site_attention',
      about: 'Faults of rules and backups, and what a new site still lacks, for the first page of a client.',
      answer: attentionShape,
      GET: sitePaths('/attention'),
      role: 'READONLY',
      errors: ['404 site_not_found'],
      handle: async ({ principal: { role } }) => ({
        attention: {
          ...ofRules(parts),
          ...(roleIncludes(role, 'OWNER') ? await ofBackups(parts) : {}),
          ...(roleIncludes(role, 'INSTALLER') ? { user_count: parts.auth.users.all().length } : {}),
        },
      }),
    }),
  ];
}

function ofRules({ rules }: Pick<Capabilities, 'rules'>) {
  const enabled = rules.all().filter(({ disabled }) => !disabled);
  return {
    are_rules_suspended: enabled.length > 0 && rules.engine().state !== 'ACTIVE',
    rules_at_fault: enabled.flatMap((rule) => {
      const { isBroken, restartsAtMs } = rules.condition(rule);
      if (!isBroken && restartsAtMs === undefined) return [];
      return [{ id: rule.id, slug: rule.slug, is_broken: isBroken }];
    }),
  };
}

async function ofBackups({ backups }: Pick<Capabilities, 'backups'>) {
  const { outcome, takenAtMs } = await backups.status();
  return {
    is_backup_made: (outcome?.goodAtMs ?? takenAtMs ?? null) !== null,
    backup_error: outcome?.fault ?? null,
  };
}
