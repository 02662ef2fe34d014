import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, startRule } from '../../support/rule-run.ts';

test('two objects of a device have the same functions, each with a dot or a colon; another device has its own', async () => {
  const rule = startRule(
    `local a, b, other = enapter.device('d-1'), enapter.device('d-1'), enapter.device('d-2')
     print(a ~= b, a.telemetry ~= b.telemetry, a.online == b.online, a.telemetry.now == b.telemetry.now)
     a.name = 'mine'
     print(b.name, b:online(), a.online(), other:online(), other.online())
     b.online = nil
     print(a.online(), pcall(a.telemetry.now, other.telemetry, 'x'))`,
    {
      answers: {
        find_device: ({ idOrSlug }: { idOrSlug: string }) =>
          ok({ id: idOrSlug, slug: idOrSlug, name: 'N', type: 'LUA' }),
        device_online: ({ deviceId }: { deviceId: string }) => ok(deviceId === 'd-1'),
      },
    },
  );
  await rule.idle();
  assert.deepEqual(rule.said(), [
    'true\ttrue\ttrue\ttrue',
    'N\ttrue\ttrue\tfalse\tfalse',
    "true\tfalse\tbad argument #1 to 'now' (string expected, got table)",
  ]);
});
