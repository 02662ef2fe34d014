/** A whole gateway with the real sandbox beside it, and words for its rules. */
import type { TestContext } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

export const RULES = '/v3/site/rule_engine/rules';

/** The real sandbox is a child process. */
export const WITH_SANDBOX = { environment: { GATEWAY_RULE_SANDBOX: 'true' } };

export interface RuleGateway {
  gateway: TestGateway;
  create(slug: string, code: string, more?: { runtime?: 'V1' | 'V3'; disable?: boolean }): Promise<void>;
  update(slug: string, code: string, runtime?: 'V1' | 'V3'): Promise<void>;
  state(slug: string): Promise<string>;
  /** Waits until the rule is in the state. */
  becomes(slug: string, state: 'STARTED' | 'STOPPED'): Promise<void>;
  messages(slug: string): Promise<string[]>;
  count(slug: string, pattern: RegExp): Promise<number>;
  /** Waits until its log has so many entries that match. */
  heard(slug: string, pattern: RegExp, count?: number): Promise<void>;
  /** The present process of the sandbox. */
  sandboxPid(): number;
}

export async function startRuleGateway(test: Pick<TestContext, 'after'>): Promise<RuleGateway> {
  return withRules(await startTestGateway(test, WITH_SANDBOX));
}

export function withRules(gateway: TestGateway): RuleGateway {
  const script = (code: string, runtime: 'V1' | 'V3') => ({
    code: Buffer.from(code).toString('base64'),
    runtime_version: runtime,
    ...(runtime === 'V1' && { exec_interval: '100ms' }),
  });
  const messages = async (slug: string): Promise<string[]> => {
    const { logs } = await gateway.ok('USER', 'GET', `${RULES}/${slug}/logs`);
    return (logs as { message: string }[]).map(({ message }) => message);
  };
  const state = async (slug: string): Promise<string> => {
    const { rule } = await gateway.ok('READONLY', 'GET', `${RULES}/${slug}`);
    return (rule as { state: string }).state;
  };
  const count = async (slug: string, pattern: RegExp): Promise<number> =>
    (await messages(slug)).filter((message) => pattern.test(message)).length;
  return {
    gateway,
    messages,
    state,
    count,
    create: async (slug, code, { runtime = 'V3', disable = false } = {}) => {
      await gateway.ok('OWNER', 'POST', RULES, { slug, disable, script: script(code, runtime) });
    },
    update: async (slug, code, runtime = 'V3') => {
      await gateway.ok('OWNER', 'POST', `${RULES}/${slug}/update_script`, { script: script(code, runtime) });
    },
    becomes: (slug, wanted) => until(async () => (await state(slug)) === wanted),
    heard: (slug, pattern, wanted = 1) => until(async () => (await count(slug, pattern)) >= wanted),
    sandboxPid: () => {
      const line = gateway.lines.findLast(
        ({ message, program }) => message === 'program runs' && program === 'rule-sandbox',
      );
      return Number(line?.['process_id']);
    },
  };
}
