import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HistoryImport, judgeBuckets } from '../../../../scripts/checks/world/history-import.ts';
import { type Attribute, sampleValue } from '../../../../scripts/checks/world/samples.ts';
import { type GatewayClient, GatewayUnreachable } from '../../../../scripts/support/gateway-client.ts';
import { TestClock } from '../../../support/test-clock.ts';

const ATTRIBUTE: Attribute = { index: 3, name: 'power', type: 'float', choices: [] };
const FROM_S = 1_700_000_100;

function averages(fromS: number, granularityS: number): Map<number, string> {
  const cells = new Map<number, string>();
  for (let startS = fromS; startS < fromS + 900; startS += granularityS) {
    let sum = 0;
    for (let second = startS; second < startS + granularityS; second++)
      sum += Number(sampleValue(1, second, ATTRIBUTE));
    cells.set(startS, String(sum / granularityS));
  }
  return cells;
}

describe('what was imported', () => {
  const cases: [string, (cells: Map<number, string>) => void, string[]][] = [
    ['is there when every bucket says what its samples said', () => undefined, []],
    ['is lost where a bucket is empty', (cells) => cells.delete(FROM_S + 60), ['lost']],
    ['is wrong where a bucket says something else', (cells) => cells.set(FROM_S, '17'), ['wrong']],
  ];
  for (const [title, change, expected] of cases)
    it(title, () => {
      const cells = averages(FROM_S, 60);
      change(cells);
      const problems = judgeBuckets(
        1,
        ATTRIBUTE,
        { fromS: FROM_S, granularityS: 60 },
        'avg',
        (startS) => cells.get(startS) ?? '',
      );
      assert.deepEqual(
        problems.map(({ kind }) => kind),
        expected,
      );
    });

  it('imported samples count once the gateway has answered, and not while it was gone', async () => {
    const imports: string[] = [];
    const client: GatewayClient = {
      text: () => Promise.reject(new Error('not asked')),
      json: async ({ csv = '' }) => {
        if (imports.length === 2) throw new GatewayUnreachable('http://gateway', new Error('killed'));
        imports.push(csv);
        return {};
      },
    };
    const historyImport = new HistoryImport({
      client,
      devices: [{ id: 'a', number: 1 }],
      attributes: [ATTRIBUTE],
      clock: new TestClock(),
    });
    await historyImport.write(new AbortController().signal);
    assert.equal(historyImport.valueCount, 2 * 900);
    const [first = '', second = ''] = imports;
    assert.match(first, /^ts,telemetry=power device=a\n\d+,-?[\d.]+\n/);
    const secondOf = (csv: string): number => Number(csv.split('\n')[1]?.split(',')[0]);
    assert.equal(secondOf(second) - secondOf(first), 900);
  });
});
