/** Rules of a site file, known by their slugs. */
import { formatDurationMs, parseDurationMs } from '../lib/time.ts';
import type { Api } from './api.ts';
import type { WantedRule } from './read.ts';
import { changed, requestStep, type Step } from './step.ts';

const RULES = '/v3/site/rule_engine/rules';
const INTERVAL_DEFAULT_MS = 1_000;

interface PresentRule {
  id: string;
  slug: string;
  disabled: boolean;
  script: { code: string; runtime_version: string; exec_interval?: string };
}

export async function ruleSteps(wanted: readonly WantedRule[], api: Api): Promise<Step[]> {
  if (wanted.length === 0) return [];
  const present = await api.all<PresentRule>(RULES, 'rules');
  return wanted.flatMap((rule): Step[] => {
    const { slug, script, isEnabled = true } = rule;
    const found = present.find((one) => one.slug === slug);
    if (found) return changesOf(rule, found, api);
    const change = `rule "${slug}": new, ${script.runtime_version}${isEnabled ? '' : ', disabled'}`;
    return [requestStep(api, change, 'POST', RULES, { slug, script, disable: !isEnabled })];
  });
}

function changesOf({ slug, script, isEnabled }: WantedRule, present: PresentRule, api: Api): Step[] {
  const path = `${RULES}/${present.id}`;
  const { code, ...others } = comparable(script);
  const { code: codeBefore, ...before } = comparable(present.script);
  const names = [...(code === codeBefore ? [] : ['script changes']), ...changed(others, before).names];
  const change = `rule "${slug}": ${names.join(', ')}`;
  const update = requestStep(api, change, 'POST', `${path}/update_script`, { script });
  const verb = isEnabled === true ? 'enable' : 'disable';
  const turn = requestStep(api, `rule "${slug}": ${verb}d`, 'POST', `${path}/${verb}`, {});
  const updates = names.length > 0 ? [update] : [];
  const turns = isEnabled !== undefined && isEnabled === present.disabled ? [turn] : [];
  // In this order neither the old nor the new script runs for a moment while the rule should be disabled.
  return isEnabled === true ? [...updates, ...turns] : [...turns, ...updates];
}

/** One form of each interval, so that scripts can be compared; V3 has none. */
function comparable({ code, runtime_version, exec_interval }: WantedRule['script']) {
  if (runtime_version !== 'V1') return { code, runtime_version };
  const intervalMs = parseDurationMs(exec_interval ?? '') || INTERVAL_DEFAULT_MS;
  return { code, runtime_version, exec_interval: formatDurationMs(Math.round(intervalMs)) };
}
