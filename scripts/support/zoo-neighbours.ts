/** Two rules that do no harm, one on each thread of the sandbox, and what they notice. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { GatewayClient } from './gateway-client.ts';
import { createRule, ruleLog, type RuleLogLine, waitForRule, waitUntil } from './rule-calls.ts';

export interface NeighboursSeen {
  /** Of the rule on the thread where the next rule is placed, sorted: by how much each wait of 10 ms was longer. */
  ownPausesMs: readonly number[];
  otherPausesMs: readonly number[];
  /** Set when that rule had to start again: from the beginning to its first line. */
  backAfterMs: number | undefined;
}

export interface Neighbours {
  /** What they noticed between two moments; the rule on the thread that was ended changes places with the other. */
  between(fromMs: number, toMs: number): Promise<NeighboursSeen>;
}

/** Waits 10 ms again and again, and tells four times a second by how much each wait was longer. */
const WATCHFUL = `
enapter.log('begin')
local pauses, last, told = {}, os.clock(), os.clock()
while true do
  system.delay(10)
  local now = os.clock()
  pauses[#pauses + 1] = string.format('%.1f', (now - last) * 1000 - 10)
  last = now
  if now - told >= 0.25 then
    enapter.log('pauses ' .. table.concat(pauses, ' '))
    pauses, told, last = {}, now, os.clock()
  end
end`;
const BACK_LIMIT_MS = 5_000;

/** The first of them stands on the thread that gets the next rule: both have as many, and it is the older one. */
export async function createNeighbours(client: GatewayClient, clock: Clock): Promise<Neighbours> {
  const slugs: string[] = [];
  for (const slug of ['neighbour-1', 'neighbour-2']) {
    await createRule(client, slug, WATCHFUL);
    await waitForRule(client, clock, slug);
    await waitUntil(clock, `${slug} tells`, async () => pausesOf(await ruleLog(client, slug)).length > 0);
    slugs.push(slug);
  }
  return {
    between: async (fromMs, toMs) => {
      const [own = [], other = []] = await Promise.all(slugs.map((slug) => ruleLog(client, slug, fromMs)));
      const within = (lines: readonly RuleLogLine[]): RuleLogLine[] =>
        lines.filter(({ receivedAtMs }) => receivedAtMs <= toMs);
      if (within(other).some(({ message }) => message === 'begin'))
        throw new Error('the rule on the other thread started again');
      const back = own.find(
        ({ message, receivedAtMs }) => message === 'begin' && receivedAtMs <= toMs + BACK_LIMIT_MS,
      );
      // The thread that was ended is replaced by a younger one.
      if (back) slugs.reverse();
      return {
        ownPausesMs: pausesOf(within(own)),
        otherPausesMs: pausesOf(within(other)),
        backAfterMs: back && back.receivedAtMs - fromMs,
      };
    },
  };
}

function pausesOf(lines: readonly RuleLogLine[]): number[] {
  return lines
    .flatMap(({ message }) => (message.startsWith('pauses ') ? message.split(' ').slice(1).map(Number) : []))
    .sort((a, b) => a - b);
}
