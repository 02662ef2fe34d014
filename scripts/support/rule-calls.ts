/** Calls of the rule engine's API for the programs in scripts/. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { GatewayClient } from './gateway-client.ts';

const RULES = '/site/rule_engine/rules';
const READY_LIMIT_MS = 30_000;
const POLL_MS = 20;

/** A V3 rule that is enabled. @throws GatewayRefusal */
export async function createRule(client: GatewayClient, slug: string, code: string): Promise<void> {
  const script = { code: Buffer.from(code).toString('base64'), runtime_version: 'V3' };
  await client.json({ method: 'POST', path: RULES, body: { slug, script } });
}

export async function removeRule(client: GatewayClient, slug: string): Promise<void> {
  await client.json({ method: 'DELETE', path: `${RULES}/${slug}` });
}

/** Waits until its script runs, or until it does not. */
export async function waitForRule(
  client: GatewayClient,
  clock: Clock,
  slug: string,
  wanted: 'STARTED' | 'STOPPED' = 'STARTED',
): Promise<void> {
  await waitUntil(clock, `rule ${slug} is ${wanted}`, async () => {
    const { rule } = await client.json({ path: `${RULES}/${slug}` });
    return (rule as { state: string }).state === wanted;
  });
}

/** @throws Error when it takes too long */
export async function waitUntil(
  clock: Clock,
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const endMs = clock.monotonicMs() + READY_LIMIT_MS;
  while (!(await condition())) {
    if (clock.monotonicMs() > endMs) throw new Error(`not in time: ${what}`);
    await clock.sleep(POLL_MS);
  }
}
