/**
 * The rule sandbox: a program beside the gateway that runs the Lua rules of the site. It knows only what the gateway
 * sends it and asks the gateway for everything else (protocol/rule-sandbox.ts). It ends when the gateway says so or
 * is gone.
 */
import { LIMITS } from '../../lib/limits.ts';
import { createSystemClock } from '../../platform/clock/index.ts';
import { createStreamLog } from '../../platform/log/index.ts';
import { connectToParent, type Payload } from '../../platform/processes/index.ts';
import { RULE_SANDBOX_PROGRAM, type SandboxSettings } from '../../protocol/rule-sandbox.ts';
import { createSandbox } from './sandbox.ts';

/** Messages that arrive before the sandbox exists. */
const early: Payload[] = [];
let receive = (payload: Payload): void => void early.push(payload);

const link = await connectToParent({
  port: process,
  protocolVersion: RULE_SANDBOX_PROGRAM.protocolVersion,
  onPayload: (payload) => receive(payload),
});
const settings = link.settings as SandboxSettings;
const clock = createSystemClock();
const log = createStreamLog({ ...settings.log, clock, stream: process.stdout }).child({
  component: 'rule-sandbox',
});

const sandbox = createSandbox({ link, settings, clock, log, limits: LIMITS });
for (const payload of early) sandbox.receive(payload);
receive = sandbox.receive;
await link.stopRequested;
await sandbox.stop();
clock.close();
link.close();
