/** The command operations behind HTTP, for one device that the test plays. */
import type { TestContext } from 'node:test';
import type { CompiledCommand } from '../../src/capabilities/blueprints/index.ts';
import { commandRoutes } from '../../src/capabilities/commands/index.ts';
import type { Device } from '../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Bench, startBench } from '../capabilities/commands/support.ts';
import { type Served, serve } from '../support/serve.ts';

export const COMMANDS: Record<string, Partial<CompiledCommand>> = {
  ping: { aliases: ['probe'] },
  look: { access_level: 'readonly' },
  erase: { access_level: 'installer', read_access_level: 'installer' },
  set_limit: {
    arguments: {
      value: { display_name: 'Value', type: 'float', required: true, max: 10 },
      pin: { display_name: 'PIN', type: 'string', sensitive: true },
    },
  },
};

export interface Context extends Served {
  bench: Bench;
  device: Device;
}

export async function startCommands(t: TestContext): Promise<Context> {
  const bench = await startBench(t);
  const device = bench.addDevice({ slug: 'battery', commands: COMMANDS, profiles: ['energy.battery'] });
  const { commands, devices, clock } = bench;
  const routes = commandRoutes({ commands, devices, clock, limits: LIMITS.commands });
  return { ...(await serve(t, { clock, devices, routes })), bench, device };
}

/** The one error of a refusal. */
export const refusal = (code: string, message: string, details?: object) => ({
  errors: [details ? { code, message, details } : { code, message }],
});
