/** `output` of rules: what reaches the gateway, and what a dry run shows of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tryDry } from '../../support/dry-run.ts';
import { answers, ok, refused, startRule } from '../../support/rule-run.ts';

async function asked(code: string, own: Parameters<typeof answers>[0] = {}) {
  const given = { output_request: () => ok({ holds: true }), output_release: () => ok(null), ...own };
  const rule = startRule(code, { answers: answers(given) });
  await rule.idle();
  return { rule, requests: rule.asked.filter(({ method }) => method.startsWith('output_')) };
}

describe('output.request', () => {
  test('output.request names wrong arguments in the line of the script', async () => {
    const { rule, requests } = await asked(`output.request('battery', nil)`);
    assert.deepEqual(requests, []);
    assert.match(rule.said().join('\n'), /bad argument #2 to 'request'/);
  });

  test('output.request returns nil and the reason when the gateway or the device refuses', async () => {
    const { rule } = await asked(
      `for _, name in ipairs({ 'nobody', 'battery' }) do
         local answer, fault = output.request(name, 'charge', {}, {})
         enapter.log(tostring(answer) .. ' ' .. fault)
       end`,
      { output_request: () => refused('output.request needs the option "safe"') },
    );
    assert.deepEqual(rule.said().slice(0, 2), [
      'nil device "nobody" not found',
      'nil output.request needs the option "safe"',
    ]);
  });

  test('output.request takes a device, an id or a slug, and leaves arguments out for bounds alone', async () => {
    const { requests, rule } = await asked(
      `local device = enapter.device('battery')
       local answer = output.request(device, 'charge', { w = 100 }, { safe = 'stop', priority = 3 })
       output.request('battery', 'charge', nil, { max = { w = 50 } })
       output.release('battery', 'charge', { output = 'b' })
       enapter.log(tostring(answer.holds))`,
    );
    assert.deepEqual(requests, [
      {
        method: 'output_request',
        parameters: {
          deviceId: 'd-1',
          name: 'charge',
          arguments: { w: 100 },
          options: { safe: 'stop', priority: 3 },
        },
      },
      {
        method: 'output_request',
        parameters: { deviceId: 'd-1', name: 'charge', arguments: null, options: { max: { w: 50 } } },
      },
      { method: 'output_release', parameters: { deviceId: 'd-1', name: 'charge', output: 'b' } },
    ]);
    assert.equal(rule.said()[0], 'true');
  });

  test('output.request shows in a dry run its changes of the command, and the safe one when the rule withdraws', async () => {
    const { story } = await tryDry(`
      local minute = 0
      scheduler.add(60000, function()
        minute = minute + 1
        if minute == 5 then return output.release('battery', 'charge') end
        if minute > 5 then return end
        output.request('battery', 'charge', { w = minute < 3 and 100 or 200 }, { safe = 'stop' })
      end)
      output.request('battery', 'discharge', {}, { safe = 'stop' })`);
    assert.deepEqual(
      story().filter((line) => line.includes('command')),
      [
        '0 command discharge {} no command "discharge" with "stop"',
        '1 command charge {"w":100}',
        '3 command charge {"w":200}',
        '5 command stop {}',
      ],
    );
  });
});
