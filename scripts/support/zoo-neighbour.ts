/** A rule that does no harm, beside the others on the thread of the sandbox, and what it notices. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { GatewayClient } from './gateway-client.ts';
import { createRule, ruleLog, type RuleLogLine, waitForRule, waitUntil } from './rule-calls.ts';

export interface NeighbourSeen {
  /** Sorted: by how much each wait of 10 ms was longer. */
  pausesMs: readonly number[];
  /** Set when it had to start again: from the beginning to its first line. */
  backAfterMs: number | undefined;
}

export interface Neighbour {
  /** What it noticed between two moments. */
  between(fromMs: number, toMs: number): Promise<NeighbourSeen>;
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

const SLUG = 'neighbour';

export async function createNeighbour(client: GatewayClient, clock: Clock): Promise<Neighbour> {
  await createRule(client, SLUG, WATCHFUL);
  await waitForRule(client, clock, SLUG);
  await waitUntil(clock, 'it tells', async () => pausesOf(await ruleLog(client, SLUG)).length > 0);
  return {
    between: async (fromMs, toMs) => {
      const lines = await ruleLog(client, SLUG, fromMs);
      const back = lines.find(
        ({ message, receivedAtMs }) => message === 'begin' && receivedAtMs <= toMs + BACK_LIMIT_MS,
      );
      return {
        pausesMs: pausesOf(lines.filter(({ receivedAtMs }) => receivedAtMs <= toMs)),
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
