/** Devices of a site file, known by their slugs. */
import { hash } from 'node:crypto';
import type { Api } from './api.ts';
import type { WantedBlueprint } from './read.ts';
import type { WantedDevice } from './schema.ts';
import { changed, patchSteps, requestStep, type Step } from './step.ts';

export interface PresentDevice {
  id: string;
  name: string;
  type: string;
  blueprint_id: string;
  communication?: { upstream_id?: string };
}

export interface Terms {
  api: Api;
  blueprints: BlueprintIds;
  faults: string[];
}

const GATEWAY = 'gateway';

export async function deviceSteps(wanted: readonly WantedDevice[], terms: Terms): Promise<Step[]> {
  const steps: Step[] = [];
  for (const [index, device] of wanted.entries())
    steps.push(...(await stepsOf(device, `devices[${index}]`, terms)));
  return steps;
}

async function stepsOf(device: WantedDevice, where: string, terms: Terms): Promise<Step[]> {
  const { api, blueprints, faults } = terms;
  const { slug, type, blueprint, runtime = GATEWAY } = device;
  const isKnown = blueprint === undefined || (await blueprints.meantBy(blueprint)) !== undefined;
  if (!isKnown)
    faults.push(`${where}.blueprint: there is no "${blueprint}", neither in this file nor on the gateway`);
  const carrier = type === 'LUA' ? await findDevice(api, runtime) : undefined;
  if (type === 'LUA' && !carrier) faults.push(`${where}.runtime: there is no device "${runtime}"`);
  const present = await findDevice(api, slug);
  if (present && present.type !== type)
    faults.push(`${where}.type: "${slug}" is ${present.type} here; delete it first`);
  const upstreamId = present?.communication?.upstream_id;
  // As a runtime the gateway means its built-in module.
  if (carrier && runtime !== GATEWAY && upstreamId !== undefined && upstreamId !== carrier.id)
    faults.push(`${where}.runtime: "${slug}" runs on another module here; delete it first`);
  if (present) return changesOf(device, present, terms);
  if (type === 'LUA') return [luaStep(device, runtime, terms)];
  return [standaloneStep(device, terms), ...(blueprint === undefined ? [] : [assignStep(device, terms)])];
}

export async function findDevice(api: Api, idOrSlug: string): Promise<PresentDevice | undefined> {
  const path = `/v3/devices/${encodeURIComponent(idOrSlug)}?expand=communication`;
  return (await api.find<{ device: PresentDevice }>(path))?.device;
}

async function changesOf(device: WantedDevice, present: PresentDevice, terms: Terms): Promise<Step[]> {
  const { api, blueprints } = terms;
  const { slug, name, blueprint } = device;
  const own = changed({ name }, { name: present.name });
  const ids = blueprint === undefined ? undefined : await blueprints.meantBy(blueprint);
  return [
    ...patchSteps(api, `device "${slug}"`, `/v3/devices/${present.id}`, own),
    ...(ids && !ids.includes(present.blueprint_id) ? [assignStep(device, terms)] : []),
  ];
}

function luaStep({ slug, name, blueprint = '' }: WantedDevice, runtime: string, terms: Terms): Step {
  return {
    change: `device "${slug}": new, LUA on "${runtime}" with the blueprint "${blueprint}"`,
    run: async () => {
      const body = { name, slug, runtime_id: runtime, blueprint_id: await idOf(blueprint, terms) };
      await terms.api.send('POST', '/v3/provisioning/lua_device', body);
    },
  };
}

function standaloneStep({ slug, name }: WantedDevice, { api }: Terms): Step {
  const change = `device "${slug}": new, STANDALONE`;
  return requestStep(api, change, 'POST', '/v3/provisioning/standalone', { name, slug });
}

function assignStep({ slug, blueprint = '' }: WantedDevice, terms: Terms): Step {
  return {
    change: `device "${slug}": blueprint "${blueprint}"`,
    run: async () => {
      const body = { blueprint_id: await idOf(blueprint, terms) };
      await terms.api.send('POST', `/v3/devices/${slug}/assign_blueprint`, body);
    },
  };
}

/** The id of a blueprint that exists by now. */
async function idOf(blueprint: string, { blueprints }: Terms): Promise<string> {
  const [id] = (await blueprints.meantBy(blueprint)) ?? [];
  if (id === undefined) throw new Error(`the blueprint "${blueprint}" is gone`);
  return id;
}

// Finds the blueprints of a site file on the gateway by their bytes, because uploads have no names there.

const NAMED = /^[^/]+\/[^/]+\/[^/]+$/;

type BlueprintIds = Awaited<ReturnType<typeof blueprintIds>>;

export async function blueprintIds(wanted: readonly WantedBlueprint[], api: Api) {
  /** Name in the file → ids of uploads with the same bytes. */
  const ids = new Map(wanted.map(({ name }): [string, string[]] => [name, []]));
  const listed =
    wanted.length === 0 ? [] : await api.all<{ id: string; source: string }>('/v3/blueprints', 'blueprints');
  for (const { id, source } of listed) {
    if (source !== 'UPLOADED') continue;
    const here = hash('sha256', await api.bytes(`/v3/blueprints/${id}/zip?view=ORIGINAL`));
    for (const { name, zip } of wanted) if (hash('sha256', zip) === here) ids.get(name)?.push(id);
  }
  return {
    /** Steps that upload missing blueprints. */
    steps: (): Step[] =>
      wanted
        .filter(({ name }) => ids.get(name)?.length === 0)
        .map(({ name, zip }) => ({
          change: `blueprint "${name}": new`,
          run: async () => {
            const { id } = await api.send<{ id: string }>('POST', '/v3/blueprints/upload', zip);
            ids.set(name, [id]);
          },
        })),
    /**
     * Ids of a blueprint by its name in the file, by an id, or by `namespace/name/tag`; empty while it is not uploaded yet,
     * undefined when there is none.
     */
    meantBy: async (reference: string): Promise<readonly string[] | undefined> => {
      const own = ids.get(reference);
      if (own) return own;
      const path = NAMED.test(reference)
        ? reference.split('/').map(encodeURIComponent).join('/')
        : encodeURIComponent(reference);
      const found = await api.find<{ blueprint: { id: string } }>(`/v3/blueprints/${path}`);
      return found && [found.blueprint.id];
    },
  };
}
