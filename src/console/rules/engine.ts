/** Calls of the pages of rules. */
import { call, callFor, NoAnswer, path } from '../api.ts';
import { compareNames } from '../by-name.ts';
import { decodeScript, encodeScript } from '../script-text.ts';
import type { Engine, LogEntry, Rule, RuleScript } from '../shapes.ts';
import type { ScriptCheck } from './code-editor.ts';

const ENGINE = '/v3/site/rule_engine';

/** The address of a rule in the API, by id or slug. */
export const ruleAddress = (name: string): string => `${ENGINE}${path`/rules/${name}`}`;

/** The page of a rule. */
export const rulePage = (slug: string): string => `#/rules/${encodeURIComponent(slug)}`;

export const readEngine = (): Promise<Engine> => callFor('engine', 'GET', ENGINE);

export const switchEngine = (verb: 'suspend' | 'resume'): Promise<unknown> =>
  call('POST', `${ENGINE}/${verb}`);

export async function readRules(): Promise<Rule[]> {
  const rules = await callFor<Rule[]>('rules', 'GET', `${ENGINE}/rules`);
  return rules.toSorted((a, b) => compareNames(a.slug, b.slug));
}

export const readRule = (name: string): Promise<Rule> => callFor('rule', 'GET', ruleAddress(name));

export const createRule = (slug: string, script: RuleScript): Promise<unknown> =>
  call('POST', `${ENGINE}/rules`, { slug, script });

/** Log entries of a rule, the newest last. */
export const readRuleLog = (rule: string, query: string): Promise<LogEntry[]> =>
  callFor('logs', 'GET', `${ruleAddress(rule)}/logs?${query}`);

/** Faults of a script; none when it is fine, or when the gateway cannot check now. */
export async function checkScript({
  code,
  runtime,
}: Pick<RuleText, 'code' | 'runtime'>): Promise<ScriptCheck> {
  try {
    const script = { code: encodeScript(code), runtime_version: runtime };
    return await call<ScriptCheck>('POST', `${ENGINE}/rules/check`, { script }, 'reads');
  } catch (error) {
    if (error instanceof NoAnswer) return {};
    throw error;
  }
}

/** The editable parts of a rule. */
export interface RuleText {
  slug: string;
  code: string;
  runtime: RuleScript['runtime_version'];
  interval: string;
}

export const textOfRule = ({ slug, script }: Rule): RuleText => ({
  slug,
  code: decodeScript(script.code),
  runtime: script.runtime_version,
  interval: script.exec_interval ?? '',
});

export const scriptOf = ({ code, runtime, interval }: RuleText): RuleScript => ({
  code: encodeScript(code),
  runtime_version: runtime,
  ...(runtime === 'V1' && { exec_interval: interval }),
});

export const isSameText = (a: RuleText, b: RuleText): boolean =>
  a.slug === b.slug && a.code === b.code && a.runtime === b.runtime && a.interval === b.interval;

export const switchRule = (id: string, verb: 'enable' | 'disable'): Promise<unknown> =>
  call('POST', `${ruleAddress(id)}/${verb}`);

/** Saves what has changed; resolves with the stored rule. A new name alone does not restart the rule. */
export async function saveRule(before: Rule, text: RuleText): Promise<Rule> {
  const address = ruleAddress(before.id);
  const isRenamed = text.slug !== before.slug;
  let rule = before;
  if (!isRenamed || !isSameText({ ...textOfRule(before), slug: text.slug }, text))
    rule = await callFor('rule', 'POST', `${address}/update_script`, { script: scriptOf(text) });
  return isRenamed ? callFor('rule', 'PATCH', address, { slug: text.slug }) : rule;
}
